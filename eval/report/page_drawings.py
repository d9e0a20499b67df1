"""Which drawings a suite gets on the page, and in which order."""

from collections.abc import Sequence

from eval.report import plots, wording
from eval.report.figures import Rate, SubjectFigures, SuiteFigures
from eval.report.markup import Html, element
from eval.report.pairs import pairs
from eval.report.samples import TITLES, samples
from eval.report.svg import Drawing
from eval.transcripts import Transcript

Answered = Sequence[tuple[SubjectFigures, SuiteFigures]]
Noted = tuple[Drawing, str]


def figures(answered: Answered, transcripts: Sequence[Transcript]) -> list[Html]:
    """Raw beside the service, categories, levels, latencies; each only where there is something to draw."""
    drawings = [*_beside(answered), *_categories(answered), *_levels(answered), *_latencies(answered, transcripts)]
    return [_figure(drawing, note) for drawing, note in drawings]


def _beside(answered: Answered) -> list[Noted]:
    by_name = {subject.name: suite for subject, suite in answered}
    return [
        (
            plots.beside(
                f"{raw.name}: raw, and through the service", *map(_rates, (by_name[raw.name], by_name[one.name]))
            ),
            "Scenarios that held; lines are 95 % intervals.",
        )
        for raw, one in pairs([subject for subject, _ in answered])
    ]


def _rates(suite: SuiteFigures) -> dict[str, Rate]:
    return {title: getattr(suite, key) for key, title in wording.MEASURES.items()}


def _categories(answered: Answered) -> list[Noted]:
    names = dict.fromkeys(name for _, suite in answered for name in suite.categories)
    rates = {
        wording.category(name): {
            subject.name: suite.categories[name] for subject, suite in answered if name in suite.categories
        }
        for name in names
    }
    return [(plots.bars("By category", rates), "Scenarios in which every check passed.")] if rates else []


def _levels(answered: Answered) -> list[Noted]:
    """Each different table once: SHIELD gives the same levels whatever model stands behind it."""
    kept: dict[str, Noted] = {}
    for subject, suite in answered:
        if suite.levels:
            same = repr({one: sorted(given.items()) for one, given in sorted(suite.levels.items())})
            drawing = plots.matrix(f"Levels · {subject.name}", suite.levels)
            kept.setdefault(same, (drawing, "Messages. Red: called too low. Amber: too high."))
    return list(kept.values())


def _latencies(answered: Answered, transcripts: Sequence[Transcript]) -> list[Noted]:
    note = "Replies, on a logarithmic axis. Lines: p50 solid, p95 dashed, p99 dotted."
    drawings = []
    for stage, title in TITLES.items():
        if values := samples(transcripts, stage):
            summaries = {subject.name: suite.latency_ms.get(stage) for subject, suite in answered}
            drawings.append((plots.distribution(title, values, summaries), note))
    return drawings


def _figure(drawing: Drawing, note: str) -> Html:
    return element("figure", element("figcaption", drawing.title, element("small", note)), Html(drawing.svg()))
