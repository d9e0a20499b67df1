"""The drawings of the page: latencies, levels, categories, raw beside the service. Each is told in words as well."""

import math
from collections.abc import Mapping, Sequence

from eval.report.figures import Counts, Rate, Summary
from eval.report.svg import WIDTH, Drawing, dot, line, rect, text
from eval.report.wording import counted, duration, interval, share
from shield.assessment import LEVELS

_LEFT, _RIGHT = 8.0, WIDTH - 8.0
_BINS = 48
_SHORTEST_MS = 0.001
_ROW = 58.0
_PAIR = 53.0


def distribution(title: str, values: Mapping[str, Sequence[float]], summaries: Mapping[str, Summary | None]) -> Drawing:
    """Latencies in milliseconds by subject, as histograms on one logarithmic axis with p50, p95 and p99 marked."""
    every = [value for one in values.values() for value in one]
    axis = _LogAxis.of(every)
    shapes, told = [], []
    for place, (name, taken) in enumerate(values.items()):
        top = place * _ROW
        shapes += _histogram(axis, name, taken, top)
        if summary := summaries.get(name):
            shapes += _marks(axis, summary, top)
            quantiles = f"p50 {duration(summary.p50)}, p95 {duration(summary.p95)}, p99 {duration(summary.p99)}"
            shapes.append(text(_RIGHT, top + 12, quantiles, kind="small", anchor="end"))
            told.append(f"{name}: {quantiles}, {summary.n} measured")
    bottom = len(values) * _ROW
    return Drawing(title, "; ".join(told) or "nothing measured", bottom + 20, (*shapes, *axis.ticks(bottom)))


class _LogAxis:
    """From milliseconds to a place between left and right; whole decades, so that drawings can be compared."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    @classmethod
    def of(cls, values: Sequence[float]) -> "_LogAxis":
        positive = [max(value, _SHORTEST_MS) for value in values if value > 0] or [1.0]
        low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
        return cls(low, max(high, low + 1))

    def part(self, value: float) -> float:
        """0 to 1; what is shorter than a microsecond stands at the left end."""
        return 0.0 if value <= _SHORTEST_MS else (math.log10(value) - self.low) / (self.high - self.low)

    def x(self, value: float) -> float:
        return _LEFT + self.part(value) * (_RIGHT - _LEFT)

    def ticks(self, bottom: float) -> list[str]:
        decades = range(int(self.low), int(self.high) + 1)
        anchors = {decades[0]: "start", decades[-1]: "end"}
        return [
            text(self.x(10.0**one), bottom + 14, duration(10.0**one), kind="small", anchor=anchors.get(one, "middle"))
            for one in decades
        ] + [line(_LEFT, bottom, _RIGHT, bottom, kind="axis")]


def _histogram(axis: _LogAxis, name: str, taken: Sequence[float], top: float) -> list[str]:
    counts = [0] * _BINS
    for value in taken:
        counts[min(int(axis.part(value) * _BINS), _BINS - 1)] += 1
    step, tallest = (_RIGHT - _LEFT) / _BINS, max(counts)
    base, room = top + _ROW - 6, _ROW - 26
    bars = [
        rect(_LEFT + place * step + 0.4, base - room * many / tallest, step - 0.8, room * many / tallest, kind="bar")
        for place, many in enumerate(counts)
        if many
    ]
    return [text(_LEFT, top + 12, name, kind="name"), *bars, line(_LEFT, base, _RIGHT, base, kind="axis")]


def _marks(axis: _LogAxis, summary: Summary, top: float) -> list[str]:
    return [
        line(axis.x(value), top + 18, axis.x(value), top + _ROW - 6, kind=kind)
        for value, kind in ((summary.p50, "p50"), (summary.p95, "p95"), (summary.p99, "p99"))
    ]


def matrix(title: str, levels: Mapping[str, Counts]) -> Drawing:
    """Which level was given where each was called for. Cells under the diagonal were called too low."""
    cell, left, top = 54.0, 82.0, 34.0
    biggest = max((many for row in levels.values() for many in row.values()), default=1)
    shapes = [text(left + 2.5 * cell, 12, "SHIELD gave", kind="small", anchor="middle")]
    for place, level in enumerate(LEVELS):
        shapes.append(text(left + (place + 0.5) * cell, 27, level, kind="small", anchor="middle"))
        shapes.append(text(left - 6, top + (place + 0.5) * 34 + 4, level, kind="small", anchor="end"))
    shapes.append(text(0, 27, "called for", kind="small"))
    told = []
    for row, expected in enumerate(LEVELS):
        for column, given in enumerate(LEVELS):
            many = levels.get(expected, {}).get(given, 0)
            kind = "cell right" if row == column else ("cell low" if column < row else "cell high")
            x, y = left + column * cell, top + row * 34.0
            shapes.append(
                rect(x + 1, y + 1, cell - 2, 32, kind=kind, opacity=0.12 + 0.5 * many / biggest if many else 0)
            )
            if many:
                shapes.append(text(x + cell / 2, y + 21, str(many), kind="count", anchor="middle"))
                told.append(f"{many} that called for {expected} were given {given}")
    return Drawing(title, "; ".join(told) or "no level was given", top + 5 * 34 + 4, tuple(shapes))


def bars(title: str, groups: Mapping[str, Mapping[str, Rate]]) -> Drawing:
    """{group: {subject: rate}}: a bar for each subject, with its Wilson interval as a line."""
    shapes: list[str] = []
    told: list[str] = []
    y = 0.0
    for group, rates in groups.items():
        shapes.append(text(_LEFT, y + 13, group, kind="name"))
        y += 19
        for subject, rate in rates.items():
            shapes += _bar(subject, rate, y)
            told.append(f"{group}, {subject}: {counted(rate)} ({interval(rate) or 'nothing tried'})")
            y += 21
        y += 7
    return Drawing(title, "; ".join(told), y + 16, (*shapes, *_percents(y)))


_BAR_LEFT, _BAR_RIGHT = 108.0, WIDTH - 46.0


def _bar(subject: str, rate: Rate, y: float) -> list[str]:
    shapes = [
        text(_BAR_LEFT - 5, y + 12, _short(subject), kind="small", anchor="end"),
        rect(_BAR_LEFT, y + 2, _BAR_RIGHT - _BAR_LEFT, 13, kind="track"),
        text(_BAR_RIGHT + 6, y + 12, counted(rate), kind="small"),
    ]
    if rate.share is None:
        return shapes
    shapes.append(rect(_BAR_LEFT, y + 2, rate.share * (_BAR_RIGHT - _BAR_LEFT), 13, kind="bar"))
    return [*shapes, *_whisker(rate, y + 8.5, "whisker")]


def _whisker(rate: Rate, y: float, kind: str) -> list[str]:
    low, high = _at(rate.low), _at(rate.high)
    ends = [line(x, y - 3.5, x, y + 3.5, kind=kind) for x in (low, high)]
    return [line(low, y, high, y, kind=kind), *ends]


def _at(part: float) -> float:
    return _BAR_LEFT + part * (_BAR_RIGHT - _BAR_LEFT)


def _percents(y: float) -> list[str]:
    return [
        text(_at(part), y + 10, f"{part:.0%}".replace("%", " %"), kind="small", anchor="middle") for part in (0, 0.5, 1)
    ]


def beside(title: str, raw: Mapping[str, Rate], served: Mapping[str, Rate]) -> Drawing:
    """The same measures of the model alone and of the service around it, each with its interval."""
    shapes: list[str] = []
    told: list[str] = []
    for place, name in enumerate(raw):
        y = place * _PAIR
        shapes.append(text(_LEFT, y + 12, name, kind="name"))
        for shift, kind, rate in ((25.0, "raw", raw[name]), (39.0, "served", served[name])):
            shapes += _whisker(rate, y + shift, f"whisker {kind}")
            if rate.share is not None:
                shapes.append(dot(_at(rate.share), y + shift, kind=kind))
            shapes.append(text(_BAR_RIGHT + 10, y + shift + 4, counted(rate), kind=f"small {kind}"))
            shapes.append(
                text(
                    _BAR_LEFT - 10,
                    y + shift + 4,
                    "raw" if kind == "raw" else "service",
                    kind=f"small {kind}",
                    anchor="end",
                )
            )
        told.append(f"{name}: raw {share(raw[name])}, through the service {share(served[name])}")
    bottom = len(raw) * _PAIR
    return Drawing(title, "; ".join(told), bottom + 18, (*shapes, *_percents(bottom + 2)))


def _short(name: str) -> str:
    return name if len(name) <= 17 else f"{name[:16]}…"
