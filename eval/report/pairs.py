"""Which raw model belongs to which service around it."""

from collections.abc import Sequence

from eval.report.figures import SubjectFigures


def pairs(subjects: Sequence[SubjectFigures]) -> list[tuple[SubjectFigures, SubjectFigures]]:
    """Each raw subject with `service:NAME`, else with a service that answered with the same model. A raw subject
    without either is left out: there is nothing to put beside it."""
    served = [one for one in subjects if one.kind == "service"]
    found = []
    for raw in (one for one in subjects if one.kind == "raw"):
        named = [one for one in served if one.name == f"service:{raw.name}"]
        same = [one for one in served if raw.model and one.model == raw.model]
        found += [(raw, one) for one in (named or same)[:1]]
    return found
