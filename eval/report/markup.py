"""HTML that is safe by construction: text is escaped when it is put in; only what was built here goes in as it is."""

import re
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


def table(head: list[str], rows: list[Html], caption: str) -> Html:
    """A table under its caption; it scrolls by itself where it is wider than the screen."""
    titles = [element("th", title, scope="col") for title in head]
    whole = element("table", element("thead", element("tr", *titles)), element("tbody", *rows), aria_label=caption)
    scrolling = element("div", whole, class_="wide", tabindex="0", role="region", aria_label=f"{caption}, scrolls")
    return element("div", element("p", caption, class_="caption"), scrolling, class_="tabled")


def row(name: str | Html, *cells: str | Html, kind: str = "") -> Html:
    """A row whose first cell is its heading. Sentences may wrap, figures may not."""
    told = [
        element("td", cell, class_="long" if len(cell) > _LONG and not isinstance(cell, Html) else None)
        for cell in cells
    ]
    return element("tr", element("th", name, scope="row"), *told, class_=kind or None)


def _attribute(name: str, value: str | bool | None) -> str:
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape(str(value))}"'
