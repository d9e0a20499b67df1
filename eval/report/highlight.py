"""A reply with the places of its findings marked, each with the numbers of the findings that it belongs to."""

from collections.abc import Sequence
from itertools import pairwise

from eval.report.figures import Found
from eval.report.markup import Html, element, joined


def marked(reply: str, findings: Sequence[Found]) -> Html:
    """The reply as HTML. Spans may overlap, be empty, or reach past the end; the text itself is never changed."""
    edges = sorted({0, len(reply), *(edge for one in findings for span in one.spans for edge in _inside(span, reply))})
    pieces = [_piece(reply, start, end, findings) for start, end in pairwise(edges)]
    return joined(pieces)


def _inside(span: tuple[int, int], reply: str) -> tuple[int, int]:
    start, end = span
    return min(max(start, 0), len(reply)), min(max(end, 0), len(reply))


def _piece(reply: str, start: int, end: int, findings: Sequence[Found]) -> Html:
    numbers = [
        (number, one.check)
        for number, one in enumerate(findings, 1)
        if any(a <= start and end <= b for a, b in one.spans)
    ]
    if not numbers:
        return joined((reply[start:end],))
    told = ", ".join(str(number) for number, _ in numbers)
    checks = ", ".join(check for _, check in numbers)
    return element("mark", reply[start:end], element("sup", told, aria_label=f"finding {told}"), title=checks)
