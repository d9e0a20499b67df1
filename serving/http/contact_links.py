"""A resource as HTML: links that a thumb can hit and a phone can dial. page.js draws the same ones."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

MOST_CARDS = 2
MORE = "More lines and other countries"
_DIALLED = re.compile(r"[^0-9+*#]")


def contact_cards(lines: Sequence[dict[str, Any]]) -> str:
    """All lines as lists: those to reach first, the emergency number among them, and the rest folded away."""
    first, rest = first_and_rest(lines)
    shown = f'<ul class="cards">{"".join(map(_card, first))}</ul>'
    if not rest:
        return shown
    more = f'<ul class="cards">{"".join(map(_card, rest))}</ul>'
    return f'{shown}<details class="more"><summary>{MORE}</summary>{more}</details>'


def first_and_rest(lines: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The first lines and the emergency number, in their order; and the others."""
    helplines = [line for line in lines if line.get("kind") != "emergency"]
    first = [line for line in lines if line.get("kind") == "emergency" or line in helplines[:MOST_CARDS]]
    return first, [line for line in lines if line not in first]


def _card(line: dict[str, Any]) -> str:
    emergency = " emergency" if line.get("kind") == "emergency" else ""
    notes = [line["hours"] or "", f"on the phone, {line['option']}" if line.get("option") else ""]
    small = f'<p class="small">{escape(" · ".join(n for n in notes if n))}</p>' if any(notes) else ""
    ways = f'<p class="ways">{_links(line)}</p>' if _ways(line) else ""
    return f'<li class="card{emergency}"><p class="name">{escape(str(line["name"]))}</p>{small}{ways}</li>'


def contact_links(lines: Sequence[dict[str, Any]]) -> str:
    """The same ways in one row, for inside the conversation."""
    reachable = [line for line in first_and_rest(lines)[0] if line.get("phone") or line.get("sms")]
    return f'<p class="ways">{"".join(map(_links, reachable))}</p>' if reachable else ""


def _links(line: dict[str, Any]) -> str:
    kind = " emergency" if line.get("kind") == "emergency" else ""
    return "".join(
        f'<a class="way{" second" if place else ""}{kind}" href="{escape(href)}"{new}>{escape(label)}</a>'
        for place, (href, label, new) in enumerate(_ways(line))
    )


def _ways(line: dict[str, Any]) -> list[tuple[str, str, str]]:
    ways = []
    phone, sms, word = line.get("phone"), line.get("sms"), line.get("sms_body")
    if phone:
        ways.append((f"tel:{_dialled(phone)}", f"Call {phone}", ""))
    if sms:
        body = f"?body={quote(word)}" if word else ""
        ways.append((f"sms:{_dialled(sms)}{body}", f"Text {word} to {sms}" if word else f"Text {sms}", ""))
    url = line.get("url")
    if url and str(url).startswith("https://") and not (phone or sms):
        ways.append((str(url), "Open the website", ' target="_blank" rel="noopener noreferrer"'))
    return ways


def _dialled(number: Any) -> str:
    return _DIALLED.sub("", str(number))
