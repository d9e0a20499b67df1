"""One message in, one stream of typed events out: the only way of a reply, whoever asks for it.

The invariant, on every exit path: the answer carries the right emergency resources, says that it is an AI, and holds no
unchecked text. The one broad `except` of the service stands here, and what it answers with is the static reply.
"""

import asyncio
import functools
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from prompts import told
from prompts.protocol import protocol_prefix, system_prompt
from prompts.wording import Wording
from safety_filter.check import FilterResult, check
from safety_filter.gate import Gate
from safety_filter.helplines import Helplines, Resources, resolve_country
from safety_filter.judge import Judge
from safety_filter.proven import Proven, ProvenGate
from safety_filter.review import Reviewer
from safety_filter.tongue import JUDGED
from safety_filter.verdict import Violation
from serving import last_resort
from serving.admission import Admits, everyone
from serving.backend import Backend, Request
from serving.chain import Chain, OpenGate
from serving.conversation import Conversation, before, bounded
from serving.draft import Draft, glue
from serving.events import AssessmentEvent, DoneEvent, Event, ResourcesEvent, SentenceEvent
from serving.length import Length
from serving.model_stage import ModelStage
from serving.own_words import OwnWords
from serving.plan import Gospel, Plan, kind_of, make_plan, recall
from serving.scene import Scene, look
from serving.spoken import Gate as GateOfText
from serving.spoken import Opinion, Said
from shield.assessment import Assessment, Turn
from shield.detect import Detector
from textrules.language import identify, likely

UNKNOWN = "unknown"

MAX_FILTERED = 8_000
"""Characters of an agent's reply: some 1,400 words, many times what fits a person in a crisis."""

_TOO_LONG = Violation("length.too-long", "length", "block")

HURRIES = frozenset({"deadline", "shutdown"})
"""What a cancellation says that wants the reply to be ended at once, and whole. It stands in `degraded` then."""


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


def _listeners() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, thread_name_prefix="shield")


@dataclass(slots=True)
class Composer:
    """The rooms that a reply is made from, built once.

    listening: where SHIELD thinks: threads of its own, so that nobody's lines wait for the checking of others' replies.
    """

    detector: Detector
    reviewer: Reviewer
    helplines: Helplines
    wording: Wording
    proven: Proven
    options: ReplyOptions = field(default_factory=ReplyOptions)
    judge: Judge | None = None
    model_stage: ModelStage | None = None
    listening: Executor = field(default_factory=_listeners)


class Responder:
    """Answers conversations through the chain; where anything breaks, with the static reply."""

    def __init__(self, composer: Composer, chain: Chain, static: Chain) -> None:
        self._rooms = composer
        self._chain = chain
        self._static = static

    def respond(self, conversation: Conversation, *, admits: Admits = everyone) -> AsyncIterator[Event]:
        """assessment, resources, sentence…, done. Never raises but for cancellation, and always ends with done.

        Where SHIELD's model stage raises the level, assessment and resources come a second time, before `done`.
        admits: whether models may be asked; else the static reply comes at once, with "overload" in `degraded`. A
        cancellation that is one of HURRIES is heeded, and not passed on: the rest of the reply is static.
        """
        return self._respond(conversation, admits, "overload")

    def overloaded(self, conversation: Conversation, *, why: str = "overload") -> AsyncIterator[Event]:
        """The same, without asking any model: help now instead of a place in a queue. `why` is named in `degraded`."""
        return self._respond(conversation, lambda _: False, why)

    def assess(self, turns: Sequence[Turn]) -> Assessment:
        """What SHIELD says of the conversation. Unlike in `respond`, its crash is the caller's to report."""
        kept = bounded(tuple(turns))
        return self._rooms.detector.assess(kept, earlier=before(tuple(turns), kept))

    def resources(self, country: str | None, language: str | None) -> Resources:
        """The lines for a country. Where nobody knows it, the international directory, and then the United States'
        lines, named as theirs; for one that was given and is not in the table, the directory alone."""
        options = self._rooms.options
        code = resolve_country(country, default=options.default_country, named=None, language=language)
        nowhere = code is None and not (country or options.default_country)
        return self._rooms.helplines.resources(code, language=language or options.default_language, name_home=nowhere)

    def filter(self, user: str, reply: str, *, country: str | None = None, language: str | None = None) -> FilterResult:
        """An agent's own reply, judged as a model's would be. Where the person is in crisis it is completed with the
        lines; a blocked one is replaced by the static reply. One of more than MAX_FILTERED characters is no reply to a
        person, and blocked unread: to judge it would keep others waiting."""
        spoken = language or _only_in(user, reply)
        conversation = Conversation((Turn("user", user),), country=country, language=spoken)
        draft = Draft(conversation, time.perf_counter())
        self._assess(draft)
        scene = self._scene(draft)
        result = self._checked(reply, user, draft, scene)
        if result.verdict == "block":
            list(self._rescue(draft, scene))
            return replace(result, text=draft.reply)
        if not draft.assessment.crisis:
            return result
        lines = self._words(draft, scene).lines(result.text)
        return replace(result, text=result.text + glue(result.text, lines))

    def _checked(self, reply: str, user: str, draft: Draft, scene: Scene) -> FilterResult:
        if len(reply) > MAX_FILTERED:
            return FilterResult("block", (_TOO_LONG,), "")
        return check(
            reply,
            reviewer=self._rooms.reviewer,
            user=user,
            language=scene.language,
            allowed=scene.allowed,
            crisis=draft.assessment.crisis,
        )

    async def _respond(self, conversation: Conversation, admits: Admits, otherwise: str) -> AsyncIterator[Event]:
        kept = bounded(conversation.turns)
        earlier = conversation.earlier + before(conversation.turns, kept)
        draft = Draft(replace(conversation, turns=kept, earlier=earlier), time.perf_counter())
        draft.degraded += self._rooms.options.always_degraded
        await asyncio.get_running_loop().run_in_executor(self._rooms.listening, self._assess, draft)
        admitted = admits(draft.assessment.level)
        draft.degraded += [] if admitted else [otherwise]
        yield AssessmentEvent(draft.assessment)
        draft.scene = scene = self._scene(draft)
        yield ResourcesEvent(scene.shown)
        try:
            async with aclosing(self._write(draft, scene, self._chain if admitted else self._static)) as events:
                async for event in events:
                    yield event
        except asyncio.CancelledError as wish:
            if not HURRIES.intersection(wish.args):
                raise
            draft.degraded += wish.args
            for sentence in self._rescue(draft, draft.scene):
                yield sentence
        except Exception:  # noqa: BLE001 - the pipeline's edge: whatever broke, the person gets the static reply
            draft.degraded.append("internal-error")
            for sentence in self._rescue(draft, draft.scene):
                yield sentence
        yield DoneEvent(draft.answer(draft.scene.shown))

    def _assess(self, draft: Draft) -> None:
        began = time.perf_counter()
        try:
            said = draft.conversation
            draft.assessment = self._rooms.detector.assess(said.turns, earlier=said.earlier)
        except Exception:  # noqa: BLE001 - whatever broke in the learned stage, the patterns are asked alone
            draft.assessment = self._by_patterns(draft)
            draft.degraded.append("shield-error")
        draft.shield_ms = (time.perf_counter() - began) * 1000

    def _by_patterns(self, draft: Draft) -> Assessment:
        try:
            said = draft.conversation
            return self._rooms.detector.assess(said.turns, learned=False, earlier=said.earlier)
        except Exception:  # noqa: BLE001 - a crashed detector is not "nothing found": the reply asks and shows help
            return Assessment("moderate", categories=(UNKNOWN,))

    def _scene(self, draft: Draft) -> Scene:
        options = self._rooms.options
        return look(
            draft.conversation,
            draft.assessment,
            self._rooms.helplines,
            country=options.default_country,
            language=options.default_language,
        )

    def _plan(self, draft: Draft, scene: Scene, heard: told.Told) -> Plan:
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
            kind=UNKNOWN if unknown else kind_of(draft.assessment, heard),
            variant=seed % 997 + past.replies,
            told=heard,
        )

    def _refuses(self, text: str) -> bool:
        return "declines_resources" in self._rooms.detector.signals(text)

    async def _write(self, draft: Draft, scene: Scene, chain: Chain) -> AsyncGenerator[Event, None]:
        words = self._words(draft, scene)
        if draft.assessment.crisis:  # nothing delays the safety question
            for event in draft.say(words.opening()):
                yield event
        if await self._raised(draft):
            yield AssessmentEvent(draft.assessment)
            draft.scene = scene = self._scene(draft)
            yield ResourcesEvent(scene.shown)
            words = self._words(draft, scene)
        if not draft.reply:
            for event in draft.say(words.opening()):
                yield event
        request = self._request(draft, scene, words)
        length = Length(draft.conversation.channel, draft.assessment.crisis)
        gates = self._gates(scene, draft.assessment)
        opinion, spent_s = self._opinion(scene, draft.assessment), time.perf_counter() - draft.started
        async with aclosing(chain.events(request, gates, opinion=opinion, spent_s=spent_s)) as events:
            async for said in events:
                if not isinstance(said, Said):
                    draft.note(said)
                    continue
                if not words.fits(draft.reply, said.text):
                    break
                draft.spoke(said)
                for event in draft.say(said.text):
                    yield event
                if length.complete(said.text, generated=said.backend.source != "static"):
                    break
        for text in words.ending(draft.reply):
            for event in draft.say(text):
                yield event

    async def _raised(self, draft: Draft) -> bool:
        """Whether SHIELD's model stage was asked, and raised the level."""
        stage, before = self._rooms.model_stage, draft.assessment
        if stage is None or not stage.wants(before):
            return False
        draft.assessment = await stage.look(draft.conversation.turns, before)
        return draft.assessment is not before

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

    def _opinion(self, scene: Scene, assessment: Assessment) -> Opinion | None:
        """The second opinion on what is said to this person; none is asked about the answer to an everyday message."""
        judge = self._rooms.judge
        if judge is None or self._rooms.reviewer.at_ease(scene.user, crisis=assessment.crisis):
            return None
        return functools.partial(judge.judge, scene.user)

    def _request(self, draft: Draft, scene: Scene, words: OwnWords) -> Request:
        plan = words.plan
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
            scene=words.cell,
        )

    def _words(self, draft: Draft, scene: Scene) -> OwnWords:
        heard = told.read([(turn.role, turn.text) for turn in scene.turns])
        signals = draft.assessment.signals
        heard = replace(
            heard, safety=next((name for name in ("not_safe", "half_safe") if f"says_{name}" in signals), "")
        )
        plan = self._plan(draft, scene, heard)
        return OwnWords(self._rooms.wording, scene, draft.assessment, plan, draft.conversation.channel, heard)

    def _rescue(self, draft: Draft, scene: Scene) -> Iterator[SentenceEvent]:
        """The rest of a reply when anything broke, and, when this breaks as well, words that need nothing at all."""
        try:
            words = self._words(draft, scene)
            body = words.body(opened=bool(draft.reply), continues=draft.speaker is not None)
            texts = [body, *words.ending(draft.reply + glue(draft.reply, body))]
        except Exception:  # noqa: BLE001 - the words below need no data, no room and no luck
            lines = scene.resources.to_json() or last_resort.resources()
            texts = [last_resort.text(lines, language=scene.language)]
        for text in texts:
            yield from draft.say(text)


def _only_in(user: str, reply: str) -> str | None:
    """The language of the reply, where the message is too short to tell its own: "no" may be anybody's."""
    if identify(user) or likely(user, JUDGED):
        return None
    spoken = identify(reply)
    return spoken if spoken in JUDGED else None
