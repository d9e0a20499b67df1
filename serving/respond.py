"""One message in, one stream of typed events out: the only way of a reply, whoever asks for it.

The invariant, on every exit path: the answer carries the right emergency resources, says that it is an AI, and holds no
unchecked text. The one broad `except` of the service stands here, and what it answers with is the static reply.
"""

import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from prompts.protocol import protocol_prefix, system_prompt
from prompts.wording import Wording
from safety_filter.check import FilterResult, check
from safety_filter.gate import Gate
from safety_filter.helplines import Helplines, Resources, resolve_country
from safety_filter.proven import Proven, ProvenGate
from safety_filter.review import Reviewer
from serving.backend import Backend, Request
from serving.chain import Chain, OpenGate, Said
from serving.chain import Gate as GateOfText
from serving.conversation import Conversation, bounded
from serving.draft import Draft, glue
from serving.events import AssessmentEvent, DoneEvent, Event, ResourcesEvent, SentenceEvent
from serving.last_words import last_words
from serving.own_words import OwnWords
from serving.plan import Gospel, Plan, kind_of, make_plan, recall
from serving.scene import Scene, look
from shield.assessment import Assessment, Turn
from shield.detect import Detector

UNKNOWN = "unknown"
# care.md section 2: a chat reply has up to 60 words before our completion; an SMS about 300 characters in all.
_WORDS = {"chat": 70, "sms": 30}
_WORDS_NO_CRISIS = {"chat": 260, "sms": 45}


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What an operator chooses about replies. max_tokens bounds the continuation of one backend, by channel.

    unapproved: names of backends whose model nobody approved; in a crisis they may only say what is known to be good.
    """

    gospel: Gospel = "always"
    quiet_line: bool = False
    default_country: str | None = None
    default_language: str = "en"
    max_tokens_chat: int = 140
    max_tokens_sms: int = 60
    always_degraded: tuple[str, ...] = ()
    unapproved: frozenset[str] = frozenset()


@dataclass(slots=True)
class Composer:
    """The rooms that a reply is made from, built once."""

    detector: Detector
    reviewer: Reviewer
    helplines: Helplines
    wording: Wording
    proven: Proven
    options: ReplyOptions = field(default_factory=ReplyOptions)


class Responder:
    """Answers conversations through the chain; where anything breaks, with the static reply."""

    def __init__(self, composer: Composer, chain: Chain, static: Chain) -> None:
        self._rooms = composer
        self._chain = chain
        self._static = static

    def respond(self, conversation: Conversation) -> AsyncIterator[Event]:
        """assessment, resources, sentence…, done. Never raises but for cancellation, and always ends with done."""
        return self._respond(conversation, self._chain, ())

    def overloaded(self, conversation: Conversation) -> AsyncIterator[Event]:
        """The same, without asking any model: help now instead of a place in a queue."""
        return self._respond(conversation, self._static, ("overload",))

    def assess(self, turns: Sequence[Turn]) -> Assessment:
        """What SHIELD says of the conversation. Unlike in `respond`, its crash is the caller's to report."""
        return self._rooms.detector.assess(bounded(tuple(turns)))

    def resources(self, country: str | None, language: str | None) -> Resources:
        """The lines for a country, or the international directory where it is not known."""
        options = self._rooms.options
        code = resolve_country(country, default=options.default_country, named=None, language=language)
        nowhere = code is None and not (country or options.default_country)
        return self._rooms.helplines.resources(code, language=language or options.default_language, name_home=nowhere)

    def filter(self, user: str, reply: str, *, country: str | None = None, language: str | None = None) -> FilterResult:
        """An agent's own reply, judged as a model's would be. Where the person is in crisis it is completed with the
        lines; a blocked one is replaced by the static reply."""
        conversation = Conversation((Turn("user", user),), country=country, language=language)
        draft = Draft(conversation, time.perf_counter())
        self._assess(draft)
        scene = self._scene(draft)
        result = check(
            reply,
            reviewer=self._rooms.reviewer,
            user=user,
            language=scene.language,
            allowed=scene.allowed,
            crisis=draft.assessment.crisis,
        )
        if result.verdict == "block":
            list(self._rescue(draft, scene))
            return replace(result, text=draft.reply)
        if not draft.assessment.crisis:
            return result
        lines = self._words(draft, scene).lines(result.text)
        return replace(result, text=result.text + glue(result.text, lines))

    async def _respond(
        self, conversation: Conversation, chain: Chain, degraded: tuple[str, ...]
    ) -> AsyncIterator[Event]:
        draft = Draft(replace(conversation, turns=bounded(conversation.turns)), time.perf_counter())
        draft.degraded += [*self._rooms.options.always_degraded, *degraded]
        self._assess(draft)
        yield AssessmentEvent(draft.assessment)
        scene = self._scene(draft)
        yield ResourcesEvent(scene.resources)
        try:
            async with aclosing(self._write(draft, scene, chain)) as sentences:
                async for sentence in sentences:
                    yield sentence
        except Exception:  # noqa: BLE001 - the pipeline's edge: whatever broke, the person gets the static reply
            draft.degraded.append("internal-error")
            for sentence in self._rescue(draft, scene):
                yield sentence
        yield DoneEvent(draft.answer(scene.resources))

    def _assess(self, draft: Draft) -> None:
        began = time.perf_counter()
        try:
            draft.assessment = self._rooms.detector.assess(draft.conversation.turns)
        except Exception:  # noqa: BLE001 - a crashed detector is not "nothing found": the reply asks and shows help
            draft.assessment = Assessment("moderate", categories=(UNKNOWN,))
            draft.degraded.append("shield-error")
        draft.shield_ms = (time.perf_counter() - began) * 1000

    def _scene(self, draft: Draft) -> Scene:
        options = self._rooms.options
        return look(
            draft.conversation,
            draft.assessment,
            self._rooms.helplines,
            country=options.default_country,
            language=options.default_language,
        )

    def _plan(self, draft: Draft, scene: Scene) -> Plan:
        wording, options = self._rooms.wording, self._rooms.options
        main = scene.resources.lines[0] if scene.resources.lines else None
        past = recall(
            scene.turns,
            says_ai=lambda text: wording.says_ai(text, scene.language),
            offers_faith=wording.offers_faith,
            asks_safety=wording.asks_safety,
            main_contact=((main.phone or main.sms) if main else None) or scene.resources.directory,
            refuses=self._refuses,
        )
        seed = zlib.crc32((draft.conversation.id or scene.user).encode("utf-8", "replace"))
        unknown = UNKNOWN in draft.assessment.categories
        return make_plan(
            draft.assessment,
            past,
            gospel=options.gospel,
            channel=draft.conversation.channel,
            quiet_line=options.quiet_line,
            kind=UNKNOWN if unknown else kind_of(draft.assessment),
            variant=seed % 997 + past.replies,
        )

    def _refuses(self, text: str) -> bool:
        return "declines_resources" in self._rooms.detector.assess([Turn("user", text)]).signals

    async def _write(self, draft: Draft, scene: Scene, chain: Chain) -> AsyncGenerator[SentenceEvent, None]:
        words = self._words(draft, scene)
        for event in draft.say(words.opening()):
            yield event
        request = self._request(draft, scene, words.plan)
        limit = (_WORDS if draft.assessment.crisis else _WORDS_NO_CRISIS)[draft.conversation.channel]
        length = 0
        gates = self._gates(scene, draft.assessment)
        async with aclosing(chain.events(request, gates)) as events:
            async for said in events:
                if not isinstance(said, Said):
                    draft.note(said)
                    continue
                if said.backend.source != "static" or draft.speaker is None:
                    draft.speaker = said.backend
                for event in draft.say(said.text):
                    yield event
                length += len(said.text.split())
                if length >= limit:
                    break
        for text in words.ending(draft.reply):
            for event in draft.say(text):
                yield event

    def _gates(self, scene: Scene, assessment: Assessment) -> OpenGate:
        careful = assessment.crisis or bool(assessment.signals)

        def open_gate(backend: Backend, before: str) -> GateOfText:
            gate = Gate(
                self._rooms.reviewer,
                user=scene.user,
                language=scene.language,
                allowed=scene.allowed,
                before=before,
                crisis=assessment.crisis,
            )
            strict = careful and backend.name in self._rooms.options.unapproved
            return ProvenGate(gate, self._rooms.proven) if strict else gate

        return open_gate

    def _request(self, draft: Draft, scene: Scene, plan: Plan) -> Request:
        options, assessment, asked = self._rooms.options, draft.assessment, draft.conversation
        return Request(
            turns=scene.turns,
            system=system_prompt(
                level=assessment.level,
                kind=plan.kind,
                language=scene.language,
                channel=asked.channel,
                gospel=options.gospel,
                signals=assessment.signals,
                context=[(passage.id, passage.text) for passage in asked.context],
            ),
            protocol_prefix=protocol_prefix(),
            prefix=draft.reply,
            max_tokens=options.max_tokens_sms if asked.channel == "sms" else options.max_tokens_chat,
            level=assessment.level,
            kind=plan.kind,
            categories=assessment.categories,
            language=scene.language,
            channel=asked.channel,
            variant=plan.variant,
        )

    def _words(self, draft: Draft, scene: Scene) -> OwnWords:
        plan = self._plan(draft, scene)
        return OwnWords(self._rooms.wording, scene, draft.assessment, plan, draft.conversation.channel)

    def _rescue(self, draft: Draft, scene: Scene) -> Iterator[SentenceEvent]:
        """The rest of a reply when anything broke, and, when this breaks as well, words that need nothing at all."""
        try:
            words = self._words(draft, scene)
            body = words.body(opened=bool(draft.reply), continues=draft.speaker is not None)
            texts = [body, *words.ending(draft.reply + glue(draft.reply, body))]
        except Exception:  # noqa: BLE001 - the words below need no data, no room and no luck
            texts = [last_words(scene.resources, scene.language)]
        for text in texts:
            yield from draft.say(text)
