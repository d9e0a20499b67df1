"""The service as the HTTP face and the command see it: the pipeline, its engines' lives, and what is ready."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from safety_filter.check import FilterResult
from safety_filter.helplines import Resources
from serving.backends.claude import ClaudeBackend
from serving.conversation import Conversation
from serving.events import Event
from serving.llama.engine import LlamaEngine
from serving.respond import Responder
from serving.status import LinkStatus, next_step
from shield.assessment import Assessment, Turn


class Service:
    """Start it, ask it, stop it. Starting waits for no weights: until they are loaded the chain answers without."""

    def __init__(
        self,
        *,
        responder: Responder,
        engines: Sequence[LlamaEngine] = (),
        clients: Sequence[ClaudeBackend] = (),
        links: Sequence[LinkStatus] = (),
        warm_prefix: str = "",
        demo: bool = False,
        default_country: str | None = None,
    ) -> None:
        self._responder = responder
        self.engines = tuple(engines)
        self._clients = tuple(clients)
        self._links = tuple(links)
        self._warm_prefix = warm_prefix
        self.demo = demo
        self.default_country = default_country

    async def start(self) -> None:
        """Starts every engine in the background."""
        for engine in self.engines:
            await engine.warm(self._warm_prefix)
            await engine.start()

    async def stop(self) -> None:
        """Ends every engine's process and closes every client's connections."""
        await asyncio.gather(
            *(engine.close() for engine in self.engines),
            *(client.aclose() for client in self._clients),
            return_exceptions=True,
        )

    def respond(self, conversation: Conversation) -> AsyncIterator[Event]:
        return self._responder.respond(conversation)

    def overloaded(self, conversation: Conversation) -> AsyncIterator[Event]:
        return self._responder.overloaded(conversation)

    def assess(self, turns: Sequence[Turn]) -> Assessment:
        return self._responder.assess(turns)

    def filter(self, user: str, reply: str, *, country: str | None = None, language: str | None = None) -> FilterResult:
        return self._responder.filter(user, reply, country=country, language=language)

    def resources(self, country: str | None, language: str | None) -> Resources:
        return self._responder.resources(country, language)

    def links(self) -> tuple[LinkStatus, ...]:
        """Every chain entry as it stands now."""
        engines = {engine.name: engine for engine in self.engines}
        return tuple(_now(link, engines.get(link.name)) for link in self._links)

    def ready(self) -> dict[str, Any]:
        """For /readyz: the service always answers; `answers_from` says with what."""
        links = self.links()
        first = next((link for link in links if link.state == "ready"), None)
        source = "static" if first is None else "claude" if first.engine == "claude" else "local"
        return {
            "ready": True,
            "answers_from": source,
            "demo": self.demo,
            "chain": [link.to_json() for link in links],
            "next_step": next_step(links, demo=self.demo),
        }


def _now(link: LinkStatus, engine: LlamaEngine | None) -> LinkStatus:
    if engine is not None:
        return link.now(engine.state, engine.state_reason)
    if link.engine == "claude" and not link.reason:
        return link.now("ready", "")
    return link
