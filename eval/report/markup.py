"""HTML that is safe by construction: text is escaped when it is put in; only what was built here goes in as it is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_VOID = frozenset({"input"})
_LONG = 24


class Html(str):
    """Markup that was built by this module; every other str is text."""

    __slots__ = ()


def element(name: str, *parts: str | Html, **attributes: str | bool | None) -> Html:
    """<name attributes>parts</name>. An attribute that is None or False is left out; a trailing _ of its name is cut
    (class_), and _ inside it becomes -."""
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    return Html(f"<{name}{given}>" if name in _VOID else f"<{name}{given}>{joined(parts)}</{name}>")


def joined(parts: tuple[str | Html, ...] | list[Html]) -> Html:
    """One after the other, text escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def command(text: str) -> Html:
    """A command of a shell. On a narrow screen it is broken before an option, not inside one."""
    options = [element("span", part) for part in re.split(r" (?=--)", text)]
    return element("pre", Html(" ".join(options)), class_="command")


def breakable(name: str) -> Html:
    """A dotted name that may be broken after its dots and underscores."""
    return Html(re.sub(r"([._])(?=\w)", r"\1<wbr>", escape(name)))


@dataclass(frozen=True, slots=True)
class Row:
    """The first cell is the row's heading. kind: its class."""

    name: str | Html
    cells: tuple[str | Html, ...]
    kind: str = ""

    def html(self, titles: Sequence[str]) -> Html:
        """Each cell carries the title of its column: a phone stacks them, and shows the titles beside them."""
        told = [
            element("td", cell, class_=_width(cell), role="cell", data_title=title or None)
            for cell, title in zip(self.cells, titles, strict=True)
        ]
        return element(
            "tr", element("th", self.name, scope="row", role="rowheader"), *told, class_=self.kind or None, role="row"
        )


def row(name: str | Html, *cells: str | Html, kind: str = "") -> Row:
    """A row whose first cell is its heading. Sentences may wrap, figures may not."""
    return Row(name, cells, kind)


def table(head: list[str], rows: Sequence[Row], caption: str) -> Html:
    """A table under its caption. Where it is wider than the screen it scrolls by itself; a phone stacks its cells.

    The roles are said because a table that is laid out as blocks would lose them.
    """
    titles = [element("th", title, scope="col", role="columnheader") for title in head]
    whole = element(
        "table",
        element("thead", element("tr", *titles, role="row"), role="rowgroup"),
        element("tbody", *(one.html(head[1:]) for one in rows), role="rowgroup"),
        aria_label=caption,
        role="table",
    )
    scrolling = element("div", whole, class_="wide", tabindex="0", role="region", aria_label=f"{caption}, scrolls")
    return element("div", element("p", caption, class_="caption"), scrolling, class_="tabled")


def _width(cell: str | Html) -> str | None:
    return "long" if len(cell) > _LONG and not isinstance(cell, Html) else None


def _attribute(name: str, value: str | bool | None) -> str:
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape(str(value))}"'
