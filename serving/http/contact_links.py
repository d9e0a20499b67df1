"""A resource as HTML: links that a thumb can hit and a phone can dial. page.js draws the same ones."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

_DIALLED = re.compile(r"[^0-9+*#]")


def contact_card(line: dict[str, Any]) -> str:
    """A list item with the name, the ways to reach it, and when."""
    emergency = " emergency" if line.get("kind") == "emergency" else ""
    notes = [line["hours"] or "", f"on the phone, {line['option']}" if line.get("option") else ""]
    small = f'<p class="small">{escape(" · ".join(n for n in notes if n))}</p>' if any(notes) else ""
    return (
        f'<li class="card{emergency}"><p class="name">{escape(str(line["name"]))}</p>{small}'
        f'<p class="ways">{_links(line)}</p></li>'
    )


def contact_links(lines: Sequence[dict[str, Any]]) -> str:
    """The same ways in one row, for inside the conversation."""
    return f'<p class="ways">{"".join(_links(line) for line in lines if line.get("phone") or line.get("sms"))}</p>'


def _links(line: dict[str, Any]) -> str:
    return "".join(f'<a class="way" href="{escape(href)}"{new}>{escape(label)}</a>' for href, label, new in _ways(line))


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
