"""A few SVG shapes as text. What is written into them is escaped; colours are classes of page.css, so that one drawing
serves light and dark."""

from dataclasses import dataclass
from html import escape

WIDTH = 360
"""Of every drawing, in its own units: text keeps its size on a phone."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of some height. `told` is the same in words, for whoever does not see it."""

    title: str
    told: str
    height: float
    shapes: tuple[str, ...]

    def svg(self) -> str:
        title, told = escape(self.title), escape(self.told)
        return (
            f'<svg class="plot" role="img" viewBox="0 0 {WIDTH} {number(self.height)}" aria-label="{title}. {told}">'
            f"<title>{title}</title><desc>{told}</desc>"
            f"{''.join(self.shapes)}</svg>"
        )


def number(value: float) -> str:
    """At most two digits after the point: a page of many marks stays small."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, content: str, *, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}" text-anchor="{anchor}">{escape(content)}</text>'


def rect(x: float, y: float, width: float, height: float, *, kind: str, opacity: float | None = None) -> str:
    shade = "" if opacity is None else f' fill-opacity="{number(opacity)}"'
    return (
        f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(max(width, 0))}" '
        f'height="{number(max(height, 0))}"{shade}/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    return f'<line class="{kind}" x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"/>'


def dot(x: float, y: float, *, kind: str, radius: float = 4.5) -> str:
    return f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>'
