"""Asks a model for the filter's second opinion, in time. No answer, a late one and an unclear one let nothing pass."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from models.catalogue import Catalogue
from safety_filter.judge import Form, Judge, Outcome, Unavailable, form_of
from serving.backend import Backend, BackendError, Request
from serving.links import Link, make_guard
from serving.settings import Settings
from serving.supervision import Engine
from shield.assessment import Turn

GUARD = "guard"
"""What filter.judge says when filter.guard is meant."""


@dataclass(frozen=True, slots=True)
class BackendJudge:
    """A judge that asks a backend. It never raises for a backend that fails: that is an "error", which blocks."""

    backend: Backend
    form: Form
    timeout_s: float

    async def judge(self, user: str, before: str, sentence: str) -> Outcome:
        question = self.form.question(user, before, sentence)
        turns = tuple(Turn("assistant" if role == "assistant" else "user", text) for role, text in question.turns)
        request = Request(turns, system=question.system, max_tokens=question.most_tokens)
        try:
            async with asyncio.timeout(self.timeout_s):
                return self.form.outcome(await self._answer(request))
        except (BackendError, TimeoutError):
            return "error"

    async def _answer(self, request: Request) -> str:
        async with aclosing(self.backend.stream(request)) as pieces:  # type: ignore[type-var] # an async generator
            return "".join([piece async for piece in pieces])


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The judge that the settings ask for, if any; the engine to run for it; why it is not there."""

    judge: Judge | None = None
    engine: Engine | None = None
    missing: str = ""


def make_second_opinion(
    settings: Settings, cards: Catalogue, links: Sequence[Link], guard: Link | None = None
) -> SecondOpinion:
    """The judge of `[filter]`. One that was asked for and cannot be had is an `Unavailable`: then nothing passes.

    guard: the link of `[filter.guard]`, where it was made already.
    """
    chosen = settings.filter
    if not chosen.judge:
        return SecondOpinion()
    own = chosen.judge == GUARD and chosen.guard is not None
    if own and chosen.guard:
        link: Link | None = guard or make_guard(chosen.guard, settings, cards)
    else:
        link = _entry(chosen.judge, links)
    problem = _problem(link, cards) if link else "no chain entry has this name"
    if link is None or link.backend is None or problem:
        return SecondOpinion(Unavailable(), missing=problem)
    judge = BackendJudge(link.backend, form_of(link.status.model), chosen.judge_timeout_s)
    return SecondOpinion(judge, link.engine if own else None)


def _entry(name: str, links: Sequence[Link]) -> Link | None:
    return next((link for link in links if link.status.name == name), None)


def _problem(link: Link, cards: Catalogue) -> str:
    """Why nobody should rely on this judge; "" where there is no reason."""
    if link.backend is None:
        return link.status.reason
    if link.engine is None:
        return ""
    card = cards.get(link.status.model)
    judges = card.purpose == "guard" or card.status == "approved"
    return "" if judges else f"{card.name} is a {card.status} model: it is no judge of what is safe"
