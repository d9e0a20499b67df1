"""GET / and POST /: the page to try the service on. Without scripts the form posts, and the page has the answer."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.types import Receive, Scope, Send

from safety_filter.helplines import Helplines
from serving.http.contact_links import contact_cards, contact_links
from serving.http.errors import explain
from serving.http.front import Front
from serving.http.hangup import HangUp
from serving.http.schemas import MessageBody, RespondBody, country_code
from serving.http.sending import RawHeaders, send_bytes
from serving.http.visit import visit_of

HTML = b"text/html; charset=utf-8"
_POLICY: RawHeaders = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'; "
        b"require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"),
)
_WRONG_KEY = "This API key is not one this service knows. Check it and send again; the numbers above work without it."


class Turns(BaseModel):
    """The conversation so far, as the form carries it: the service keeps none."""

    model_config = ConfigDict(hide_input_in_errors=True)
    turns: list[MessageBody]


class Page:
    """The page itself, drawn on the server with the resources in it."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._template = Template(read("index.html").decode("utf-8"))
        self._countries = {code: entry.name for code, entry in Helplines.load().countries.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            form = _form(await self._front.form_body(scope, receive))
            async with self._front.caller(receive) as caller:
                await self._reply(form, scope, send, caller)
            return
        asked = _form(scope["query_string"])
        await self._send(send, country=asked.get("country"))

    async def _reply(self, form: Mapping[str, str], scope: Scope, send: Send, caller: HangUp) -> None:
        country = country_code(form.get("country"))
        if not self._front.gatekeeper.admit_form(form.get("key", ""), visit_of(scope)):
            await self._send(send, country=country, notice=_WRONG_KEY, status=401)
            return
        try:
            turns = Turns.model_validate_json(form.get("history") or '{"turns":[]}').turns
            body = RespondBody(messages=turns, message=form.get("message", ""), country=country)
        except ValidationError as error:
            await self._send(send, country=country, notice=explain(error), status=422)
            return
        done = await self._front.done(body.asked(), visit_of(scope), caller)
        said = [*turns, MessageBody(role="user", content=body.message or "")]
        said.append(MessageBody(role="assistant", content=done["reply"][:32_000]))
        await self._send(send, country=country, lines=done["resources"], turns=said, done=done)

    async def _send(
        self,
        send: Send,
        *,
        country: str | None,
        lines: Sequence[dict[str, Any]] | None = None,
        turns: Sequence[MessageBody] = (),
        done: dict[str, Any] | None = None,
        notice: str = "",
        status: int = 200,
    ) -> None:
        responder = self._front.responder
        chosen = country_code(country) or responder.default_country or ""
        shown = lines if lines is not None else self._front.resources(country, None)
        history = json.dumps({"turns": [turn.model_dump() for turn in turns]}) if turns else ""
        links = contact_links(shown) if done and done["assessment"]["crisis"] else ""
        body = self._template.substitute(
            demo="" if responder.demo else "hidden",
            keyed="" if self._front.gatekeeper.keys.required else "hidden",
            cards=contact_cards(shown),
            countries=self._options(chosen.upper()),
            turns="".join(map(_turn, turns[:-1])) + (_turn(turns[-1], links) if turns else ""),
            notice=f'<p class="notice" role="alert">{escape(notice)}</p>' if notice else "",
            history=escape(history),
        )
        await send_bytes(send, body.encode("utf-8", "replace"), status=status, media_type=HTML, headers=_POLICY)

    def _options(self, chosen: str) -> str:
        rows = [("", "My country is not listed")] if chosen in self._countries else [("", "Choose a country")]
        rows += sorted(self._countries.items(), key=lambda row: row[1])
        return "\n".join(
            f'<option value="{escape(code)}"{" selected" if code == chosen else ""}>{escape(name)}</option>'
            for code, name in rows
        )


class PageFile:
    """One of the page's own files, read once. Nothing outside of the package is ever opened."""

    def __init__(self, name: str, media_type: bytes) -> None:
        self._body = read(name)
        self._media_type = media_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_bytes(send, self._body, media_type=self._media_type)


def read(name: str) -> bytes:
    return files("serving.http").joinpath("page", name).read_bytes()


def _form(raw: bytes) -> dict[str, str]:
    """The last value of each field of a form or a query."""
    fields = parse_qs(raw.decode("utf-8", "replace"), encoding="utf-8", errors="replace")
    return {name: values[-1] for name, values in fields.items()}


def _turn(turn: MessageBody, links: str = "") -> str:
    who = "You" if turn.role == "user" else "Reply, written by an AI"
    words = f'<p class="text">{escape(turn.content)}</p>'
    return f'<article class="turn {turn.role}"><h3 class="who">{who}</h3>{links}{words}</article>'
