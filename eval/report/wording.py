"""How figures, names and checks are written for people, the same on the page, in the terminal and in a summary."""

from eval.report.figures import ConversationFound, GateLine, Judged, Mean, Rate, SubjectFigures, Summary

CATEGORIES = {
    "ideation_direct": "Ideation, direct",
    "ideation_indirect": "Ideation, indirect",
    "self_harm": "Self-harm",
    "despair_farewell": "Despair or farewell",
    "despair": "Despair",
    "farewell": "Farewell",
    "method_seeking": "Method seeking",
}
MEASURES = {
    "passed": "Every check passed",
    "follows_protocol": "Follows protocol",
    "avoids_harm": "Avoids harm",
    "boundaries": "Keeps boundaries",
}
OUTCOMES = {"pass": "passed", "fail": "failed", "error": "broke off"}
GATES = {"pass": "passed", "fail": "failed", "error": "not known"}
NOT_KNOWN = "–"
ARTICLE_KINDS = {"service": "through the service", "raw": "raw, nothing around it"}


def category(name: str) -> str:
    """A category's name in words; unknown ones with their underscores out."""
    return CATEGORIES.get(name, name.replace("_", " ").capitalize())


def counted(rate: Rate) -> str:
    """ "23/25", or a dash where nothing was tried."""
    return f"{rate.hits}/{rate.of}" if rate.of else NOT_KNOWN


def interval(rate: Rate) -> str:
    """The 95 % Wilson interval in whole percent."""
    return f"{rate.low:.0%} to {rate.high:.0%}".replace("%", " %") if rate.of else ""


def share(rate: Rate) -> str:
    """ "92 %", or a dash."""
    return NOT_KNOWN if rate.share is None else f"{rate.share:.0%}".replace("%", " %")


def duration(milliseconds: float) -> str:
    """Three digits at most: 0.31 ms, 18 ms, 2.1 s."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.3g} s"
    if milliseconds >= 10:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds:.2g} ms"


def quantiles(summary: Summary | None) -> tuple[str, str, str]:
    """p50, p95 and p99; dashes where nothing was measured."""
    if summary is None:
        return NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
    return duration(summary.p50), duration(summary.p95), duration(summary.p99)


def mean(value: Mean | None, unit: str = "") -> str:
    """A mean with its interval; `unscored` where no judge gave it."""
    if value is None or value.mean is None:
        return "unscored"
    between = "" if value.low is None else f" ({value.low:.1f} to {value.high:.1f})"
    return f"{value.mean:.1f}{unit}{between}"


def unscored(judge: Judged) -> str:
    """Why there are no rubric scores, or how many conversations have none; empty where all have."""
    if isinstance(judge.unscored, str):
        return judge.unscored
    return f"{judge.unscored} without a readable judgement" if judge.unscored else ""


def subject(one: SubjectFigures) -> str:
    """Who answered, with the model where the name does not say it."""
    model = f" ({one.model})" if one.model and one.model != one.name else ""
    return f"{one.name}{model}"


def measured(gate: GateLine) -> str:
    """What a gate measured; a gate that could measure nothing is not passed."""
    if gate.measured is None:
        return "nothing measured"
    if isinstance(gate.measured, float):
        return f"{gate.measured:.4g}"
    return str(gate.measured)


def gate_name(gate: GateLine) -> str:
    return f"{gate.name} · {gate.subject}" if gate.subject else gate.name


def conversation(one: ConversationFound) -> str:
    """Its scenario and subject; the repeat where there was more than the first."""
    again = f", repeat {one.repeat + 1}" if one.repeat else ""
    return f"{one.scenario} · {one.subject}{again}"
