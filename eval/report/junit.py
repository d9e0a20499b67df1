"""JUnit XML for CI: a test suite for each subject and suite, a test case for each conversation and check.

A check that finds nothing to check in a conversation stands as passed. A conversation that broke off is an error of
every check that met it.
"""

import re
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree

from eval.report.figures import ConversationFound, Found, Report, RunAbout, SubjectFigures, SuiteFigures

# What XML 1.0 cannot hold, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The whole document."""
    root = ElementTree.Element("testsuites", name="crisis eval")
    for subject in report.subjects:
        for name, suite in subject.suites.items():
            told = [one for one in report.conversations if (one.subject, one.suite) == (subject.name, name)]
            root.append(_suite(report.run, subject, name, suite, told))
    root.append(_gates(report))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(
    run: RunAbout, subject: SubjectFigures, name: str, suite: SuiteFigures, told: Iterable[ConversationFound]
) -> ElementTree.Element:
    place = f"{name}.{subject.name}"
    cases = [_case(place, one, check) for one in told for check in list(suite.checks) or ["answered"]]
    properties = {
        "subject": subject.name, "kind": subject.kind, "model": subject.model, "suite": name, "run": run.id,
        "seed": run.seed, "repeat": run.repeat, "version": run.version, "commit": run.commit or "",
    }  # fmt: skip
    return _counted(place, cases, properties, run.started_at)


def _case(place: str, one: ConversationFound, check: str) -> ElementTree.Element:
    again = f" (repeat {one.repeat})" if one.repeat else ""
    case = ElementTree.Element("testcase", classname=place, name=_clean(f"{one.scenario}{again} · {check}"))
    case.append(_properties({"seed": one.seed, "repeat": one.repeat, "category": one.category}))
    found = [(turn, each) for turn, each in one.findings if each.check == check]
    if found:
        case.append(_problem(found, one.reproduce))
    elif check == "answered" and one.outcome != "pass":
        ElementTree.SubElement(case, "error", message="nothing was checked").text = _clean(one.reproduce)
    return case


def _problem(found: list[tuple[int, Found]], reproduce: str) -> ElementTree.Element:
    kind = "error" if any(one.outcome == "error" for _, one in found) else "failure"
    whys = [f"turn {turn + 1}: {one.why}" for turn, one in found]
    problem = ElementTree.Element(kind, message=_clean(whys[0]), type=found[0][1].dimension)
    problem.text = _clean("\n".join([*whys, reproduce]))
    return problem


def _gates(report: Report) -> ElementTree.Element:
    cases = []
    for gate in report.gates:
        name = f"{gate.name} {gate.limit}{f' · {gate.subject}' if gate.subject else ''}"
        case = ElementTree.Element("testcase", classname="gates", name=_clean(name))
        if gate.outcome != "pass":
            kind = "error" if gate.outcome == "error" else "failure"
            message = "nothing measured" if gate.measured is None else f"measured {gate.measured}, limit {gate.limit}"
            places = [f"{one.suite} {one.scenario}: {one.why}\n{one.reproduce}" for one in gate.where]
            ElementTree.SubElement(case, kind, message=_clean(message)).text = _clean("\n".join([gate.why, *places]))
        cases.append(case)
    if not report.run.complete:
        case = ElementTree.Element("testcase", classname="gates", name="the run is complete")
        ElementTree.SubElement(case, "error", message=f"{report.run.done} of {report.run.planned} conversations")
        cases.append(case)
    return _counted("gates", cases, {"run": report.run.id}, report.run.started_at)


def _counted(
    name: str, cases: list[ElementTree.Element], properties: Mapping[str, object], when: str
) -> ElementTree.Element:
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
    }
    suite = ElementTree.Element("testsuite", {key: str(value) for key, value in counts.items()})
    suite.set("name", _clean(name))
    suite.set("timestamp", when.removesuffix("Z"))
    suite.append(_properties(properties))
    suite.extend(cases)
    return suite


def _properties(values: Mapping[str, object]) -> ElementTree.Element:
    properties = ElementTree.Element("properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))
    return properties


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("�", text)
