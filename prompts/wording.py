"""Our own words: what people read before a model speaks, and instead of one. The sentences stand in prompts/*.toml.

Every choice is deterministic in `variant` and avoids what `previous` (our earlier replies of the conversation) holds.
English and Spanish are complete; Portuguese, French, German and Italian hold the essentials; others read English.

Errors: WordingError
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from prompts import recognise
from prompts.told import NOTHING, Told

LEVELS = ("none", "low", "moderate", "high", "imminent")
KINDS = (
    "none", "direct", "third_party", "self_harm", "farewell", "method_seeking", "despair", "act_under_way", "abuse",
    "violence", "psychosis", "medical", "unknown",
)  # fmt: skip
# What a person just said or told about themselves, in the order in which a line about it matters.
SIGNALS = (
    "asks_if_human", "asks_blessing", "asks_privacy", "asks_hospital", "asks_line", "insults_bot",
    "declines_resources", "asks_resources", "declines_faith", "denies", "affirms",
    "voices", "abused_at_home", "minor", "intoxicated", "maternal", "bereaved", "lgbtq", "veteran", "farmer",
    "religious_harm", "fears_god", "other_faith",
)  # fmt: skip
_OF_THE_LAST_TURN = frozenset(SIGNALS[:8]) | {"denies", "affirms"}
# What the person told about themselves; in danger of minutes the call comes before any of it.
_ABOUT_THEM = frozenset(SIGNALS[11:])
_ALSO_WITHOUT_CRISIS = frozenset(
    {"asks_if_human", "asks_privacy", "asks_hospital", "asks_line", "insults_bot", "asks_resources", "declines_faith"}
)
# Suicide hinted at and not named: a language without its own question for it asks the general one.
_HINTED = frozenset({"burden", "despair", "self_harm", "farewell", "method_seeking", "unknown"})
_ABOUT_ONE_REPLY = 1200
# The answers that danger of minutes changes; "" for none: the call is what the reply is about.
_IN_MINUTES = {
    "is_safe": "is_safe_unsure",
    "declines_resources": "declines_resources_imminent",
    "asks_privacy": "asks_privacy_imminent",
    "asks_blessing": "asks_blessing_imminent",
    "denies": "",
    "denies_first": "",
    "denies_unclear": "",
    "affirms_unclear": "",
}

_ABOUT_SAFETY = frozenset({"not_safe", "is_safe"})
# Whom an act of their own puts in danger; the others have words for their own kind of danger.
_OWN_ACT = frozenset({"direct", "despair", "self_harm", "farewell", "method_seeking", "act_under_way", "unknown"})
_STEADY = frozenset({"low", "moderate"})
_SHORTENED = frozenset({"low", "moderate", "high"})

Pool = Sequence[str]


class WordingError(ValueError):
    """A wording file cannot be used: says which file and which cell."""


@dataclass(frozen=True, slots=True)
class Tongue:
    """The sentences of one language, by section and cell."""

    code: str
    tables: Mapping[str, Any]

    def pool(self, section: str, *names: str) -> Pool:
        """The lines of the first of these cells that the section has; references are followed."""
        table = self.tables.get(section, {})
        for name in names:
            lines = table.get(name)
            if lines:
                return [lines] if isinstance(lines, str) else list(lines)
        return ()

    def body(self, kind: str, level: str) -> Pool:
        """The replies of one cell. A cell that is the name of another one stands for it."""
        static: Mapping[str, Any] = self.tables["static"]
        cell = static.get(kind, static["unknown"]).get(level, static["unknown"][level])
        while isinstance(cell, str):
            kind, level = cell.split(".")
            cell = static[kind][level]
        return list(cell)

    def emergency(self, number: str) -> str:
        """How one says whom to call: the number, or 'your local emergency number'."""
        words = self.tables["emergency"]
        text: str = words["number"].replace("{number}", number) if number else words["unknown"]
        return text


@dataclass(frozen=True, slots=True)
class Wording:
    """All languages, loaded once; every method is pure."""

    tongues: Mapping[str, Tongue]

    @classmethod
    def load(cls) -> "Wording":
        """Every prompts/*.toml. Raises WordingError for a file that is not valid or a reference that leads nowhere."""
        found = {}
        for file in sorted((f for f in files("prompts").iterdir() if f.name.endswith(".toml")), key=lambda f: f.name):
            code = file.name.removesuffix(".toml")
            found[code] = parse(code, file.read_text(encoding="utf-8"))
        return cls(found)

    def tongue(self, language: str) -> Tongue:
        """The language's sentences, English where we have none."""
        return self.tongues.get(language.lower().replace("_", "-").split("-")[0], self.tongues["en"])

    def opening(
        self,
        *,
        level: str,
        kind: str,
        categories: Iterable[str] = (),
        language: str,
        variant: int,
        ask_safety: bool,
        previous: str = "",
        emergency: str = "",
        said: str = "",
        names: bool = True,
        told: Told = NOTHING,
        heard: str = "",
    ) -> str:
        """The first one to three sentences of a reply: one of hearing, then the safety question where it is asked.

        Suicide that is hinted at is then asked about by name, unless another line of the reply `names` it (False).

        Asked in an earlier reply already, it comes in other words; just answered with a bare no (`said` is the person's
        last message), the level's next question takes its place.
        In danger of minutes the emergency call comes first; `emergency` is the number, "" for an unknown country. A
        call that was reported is heard instead, and one physical step that fits the act ends the opening.
        heard: a line of having heard that takes the place of the usual one.
        The result is "" where the next speaker should simply begin: level none, or later turns with all lines used.
        """
        words = self.tongue(language)
        question = ""
        unsafe = _just_said_unsafe(kind, said) and recognise.asks_safety(_last_reply(previous))
        if ask_safety and (told.safety or unsafe):
            question = self.next_question(
                level=level, kind=kind, language=language, variant=0, previous=previous, told=told
            )
        elif ask_safety:
            question = _safety(words, kind, variant, previous)
        if _minutes(level, kind):
            call = self.report_line(
                told, kind=kind, language=language, variant=variant, previous=previous, emergency=emergency
            )
            call = call or _urgent(words, _urgent_cell(kind, told), variant, previous, emergency, ask_safety)
            step = choose(words.pool("step", *_steps(kind, told)), variant, previous)
            return _join(call, question, step)
        if ask_safety:
            topic = _topic(kind, categories)
            hearing = heard or choose(words.pool("hearing", topic, "unknown"), variant, previous)
            naming = words.pool("naming", topic, *(["unknown"] if topic in _HINTED else []))
            hushed = "suicide" in told.answered and level in ("low", "moderate")
            asks = names and not hushed and recognise.asks_safety(question)
            return _join(hearing, question, choose(naming, variant, previous) if asks else "")
        if level == "none" or kind == "none":
            return ""
        later = words.pool("later", "third_party" if kind == "third_party" else "self", "self")
        return choose(_unused(later, previous), variant)

    def static_reply(
        self,
        *,
        level: str,
        kind: str,
        language: str,
        variant: int,
        previous: str = "",
        after_opening: bool = True,
        channel: str = "chat",
        emergency: str = "",
        scene: str = "",
    ) -> str:
        """The rest of a reply without a model; with after_opening=False the whole of it, safety question included.

        scene: the cell of words for what the person told (`scene_of`), "" for the situation's own.
        """
        words = self.tongue(language)
        level = "imminent" if kind == "act_under_way" and level != "none" else level
        band = _band(level, kind)
        short = words.pool("sms", band, "steady") if channel == "sms" else ()
        own = words.pool("scene", scene) or short or words.body(kind, level)
        text = choose(own, variant, previous, spare=words.pool("follow", band))
        if after_opening:
            return text
        first = self.opening(
            level=level,
            kind=kind,
            language=language,
            variant=variant,
            ask_safety=level != "none",
            previous=previous,
            emergency=emergency,
        )
        return _join(first, text)

    def closing(self, *, level: str, kind: str, language: str, variant: int, previous: str = "") -> str:
        """One sentence that ends a reply which broke off, or that keeps an offer from being the last word."""
        return choose(self.tongue(language).pool("closing", _band(level, kind), "steady"), variant, previous)

    def disclosure(self, *, language: str, variant: int, first: bool, plain: bool = False, previous: str = "") -> str:
        """That an AI writes, in one sentence; the first time with what follows from it. plain: outside of a crisis."""
        cells = ("plain", "later") if plain else ("first" if first else "later",)
        return choose(self.tongue(language).pool("disclosure", *cells), variant, previous)

    def gospel(self, *, language: str, variant: int, previous: str = "", kind: str = "") -> str:
        """The offer of faith, with its exit. Never the first and never the last words of a reply."""
        cells = ("third_party", "offer") if kind == "third_party" else ("offer",)
        return choose(self.tongue(language).pool("gospel", *cells), variant, previous)

    def next_question(
        self, *, level: str, kind: str, language: str, variant: int, previous: str = "", told: Told = NOTHING
    ) -> str:
        """The question about safety that follows on a later turn (care.md section 1), "" at level none.

        What was answered is not asked again, and to whom somebody else does harm it is about getting out of reach.
        """
        words = self.tongue(language)
        if level == "none":
            return ""
        pool = words.pool("next_question", kind if kind in ("third_party", "abuse") else level)
        if not pool and kind not in ("third_party", "abuse"):
            pool = words.pool("naming", "unknown")
        if level in _STEADY and kind in _OWN_ACT:
            closed = told.answered | ({"tonight"} if "suicide" in told.answered else set())
            pool = [line for line in pool if not recognise.questions_asked(line) & closed]
        return choose(pool, variant, previous)

    def report_line(
        self, told: Told, *, kind: str, language: str, variant: int, previous: str = "", emergency: str = ""
    ) -> str:
        """One line that hears what they report, such as a call already made; "" where there is nothing to hear."""
        words = self.tongue(language)
        number = words.emergency(emergency)
        pool = words.pool("urgent_told", _report_cell(kind, told))
        return choose([line.replace("{emergency}", number) for line in pool], variant, previous)

    def scene_of(self, told: Told, *, level: str, kind: str, language: str, first: bool = False) -> str:
        """The cell of words for what the person told, "" where the situation's own words are the right ones.

        first: our first reply, whose lines and offers are long enough: its body is a short one.
        """
        names = (*_scenes(told, level, kind), *(_first_words(level, kind) if first else ()))
        found = self.tongue(language).tables.get("scene", {})
        return next((name for name in names if name in found), "")

    def signal_line(
        self,
        signals: Iterable[str],
        language: str,
        variant: int,
        *,
        level: str = "low",
        kind: str = "",
        previous: str = "",
        said: str = "",
        told: Told = NOTHING,
    ) -> str:
        """One line that answers what the person said or told about themselves, "" when there is none to say.

        What stays true for the whole conversation is answered once. `said` is the person's last message: a bare no
        after several questions is asked about, once, instead of being believed. In danger of minutes nothing is said
        about their life, no denial is taken as an all-clear, and feeling safe doesn't take the place of the call.
        """
        words, present = self.tongue(language), _present(signals, said) | ({"denies"} if told.safety else set())
        urgent = _minutes(level, kind) or (kind == "medical" and level != "none")
        special = _special(words, told, level, kind, said, previous)
        if special and (pool := words.pool("signal", special)):
            return choose(pool, variant, previous)
        for signal in SIGNALS:
            if signal not in present or (level == "none" and signal not in _ALSO_WITHOUT_CRISIS):
                continue
            if urgent and signal in _ABOUT_THEM:
                continue
            cell = _answer(words, signal, said, previous, safety=told.safety)
            if kind == "third_party" and cell in _ABOUT_SAFETY:
                cell = f"{cell}_third_party"
            if urgent or (cell == "is_safe" and _urged(words, previous)):
                cell = _IN_MINUTES.get(cell, cell)
            elif level == "high" and cell == "declines_resources":
                cell = "declines_resources_high"
            pool = words.pool("signal", cell)
            if pool and (signal in _OF_THE_LAST_TURN or not any(_used(line, previous) for line in pool)):
                return choose(pool, variant, previous)
        return ""

    def line_again(self, number: str, language: str, *, texts: bool) -> str:
        """A line that was tried in vain, named as one way among others; `texts`: it can be written to as well."""
        pool = self.tongue(language).pool("line_again", "texts" if texts else "calls")
        return pool[0].replace("{number}", number) if pool else ""

    def says_ai(self, text: str, language: str = "en") -> bool:
        """Whether the text says that an AI writes it; every language is looked for, because a reply may mix them."""
        return recognise.says_ai(text)

    def offers_faith(self, text: str) -> bool:
        """Whether the text already offers faith."""
        return recognise.offers_faith(text)

    def asks_safety(self, text: str) -> bool:
        """Whether the text already asks whether they are safe."""
        return recognise.asks_safety(text)


def parse(code: str, text: str) -> Tongue:
    """One language's file. Raises WordingError when a section is missing or a reference leads nowhere."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WordingError(f"prompts/{code}.toml: not valid TOML: {error}") from error
    needed = ("emergency", "question", "hearing", "urgent", "later", "static", "follow", "closing", "disclosure")
    if missing := [name for name in needed if name not in tables]:
        raise WordingError(f"prompts/{code}.toml: the sections {missing} are missing")
    tongue = Tongue(code, tables)
    for kind in tables["static"]:
        for level in LEVELS:
            _check(tongue, kind, level)
    return tongue


def _check(tongue: Tongue, kind: str, level: str) -> None:
    try:
        if not tongue.body(kind, level):
            raise KeyError(level)
    except (KeyError, ValueError) as error:
        raise WordingError(f"prompts/{tongue.code}.toml: static.{kind}.{level} is empty or leads nowhere") from error


def choose(pool: Pool, variant: int, previous: str = "", *, spare: Pool = ()) -> str:
    """A line not yet used: of the pool, then of the spare ones; when all are used, the one used longest ago."""
    fresh = _unused(pool, previous) or _unused(spare, previous)
    if fresh:
        return fresh[variant % len(fresh)]
    said = recognise.plain(previous)
    return min([*pool, *spare], key=lambda line: said.rfind(recognise.plain(line)), default="")


def _unused(pool: Pool, previous: str) -> Pool:
    return [line for line in pool if not _used(line, previous)] if previous else pool


def _used(line: str, previous: str) -> bool:
    return bool(previous) and recognise.plain(line) in recognise.plain(previous)


def _present(signals: Iterable[str], said: str) -> frozenset[str]:
    """The signals, with a yes or no that is put in words of its own ("honestly no i'm not")."""
    found = set(signals)
    if not found & {"denies", "affirms"}:
        found |= {"denies"} if recognise.bare_no(said) or recognise.says_unsafe(said) else set()
        found |= {"affirms"} if recognise.bare_yes(said) else set()
    return frozenset(found)


def _just_said_unsafe(kind: str, said: str) -> bool:
    no = recognise.starts_no if kind == "abuse" else recognise.bare_no
    return no(said) or recognise.says_unsafe(said)


def _special(words: Tongue, told: Told, level: str, kind: str, said: str, previous: str) -> str:
    """The cell that answers what they told, where it comes before what SHIELD's signals say; "" for none."""
    if level == "none":
        return ""
    asked = recognise.questions_asked(_last_reply(previous))
    if kind == "abuse" and asked & {"safety", "screen"} and (recognise.starts_no(said) or recognise.says_unsafe(said)):
        return "not_safe_abuse"
    if told.line_failed:
        return "line_failed"
    if level in _STEADY and kind in _OWN_ACT and told.intrusive:
        return "" if any(_used(line, previous) for line in words.pool("signal", "intrusive")) else "intrusive"
    return "another_topic" if told.wish == "distraction" and level in _STEADY else ""


def _answer(words: Tongue, signal: str, said: str, previous: str, *, safety: str) -> str:
    """The cell that answers a yes or no: it means opposite things after "are you safe?" and "suicide?".

    After both at once a bare one is asked about, once; after neither, it answers something else: no line is due ("").
    """
    if signal not in ("denies", "affirms"):
        return signal
    if signal == "denies" and not previous:
        return "denies_first"
    if safety or recognise.says_unsafe(said):
        return safety or "not_safe"
    asked = recognise.questions_asked(_last_reply(previous))
    if "safety" in asked and recognise.says_safe(said):
        return "is_safe"
    bare = recognise.bare_no if signal == "denies" else recognise.bare_yes
    if not bare(said):
        return signal
    if "safety" not in asked:
        return signal if asked else ""
    check = f"{signal}_unclear"
    if len(asked) > 1 and not any(_used(line, previous) for line in words.pool("signal", check)):
        return check
    return "not_safe" if signal == "denies" else "is_safe" if len(asked) == 1 else signal


def _report_cell(kind: str, told: Told) -> str:
    """Where the line about their report stands. What befell another person is no news about the writer."""
    if not told.report or kind == "abuse":
        return ""
    whose = "third_party" if kind == "third_party" else "own"
    return "" if whose == "own" and told.report in ("found", "breathing") else f"{whose}_{told.report}"


def _urgent_cell(kind: str, told: Told) -> str:
    if kind == "third_party" and told.far:
        return "far"
    return "self" if kind == "act_under_way" and told.act in ("place", "means", "air", "away") else kind


def _steps(kind: str, told: Told) -> tuple[str, ...]:
    """The cells of the one physical step, the fitting first; none where a helper reports that others are there."""
    if kind == "third_party":
        if told.report in ("arrived", "found", "called", "breathing"):
            return ()
        return ("far", "third_party") if told.far else ("third_party",)
    if told.report == "arrived":
        return ()
    if kind in _OWN_ACT:
        act = told.act or ("wound" if kind == "self_harm" else "")
        return (act, "self") if act else ("self",)
    return (kind, "self")


def _first_words(level: str, kind: str) -> tuple[str, ...]:
    """The cells of a short body, where there is one."""
    if level not in _SHORTENED or kind == "act_under_way":
        return ()
    if kind == "third_party":
        return ("first_third_party_high",) if level == "high" else ("first_third_party",)
    if kind == "self_harm" and level != "high":
        return ("first_self_harm",)
    if kind == "farewell" or (level == "high" and kind in ("direct", "despair", "unknown")):
        return ("first_high",)
    return ("first_direct",) if kind in ("direct", "despair") else ()


def _quieter(told: Told, kind: str) -> tuple[str, ...]:
    """The cells for who is in no danger of hours: another topic, pictures that frighten, suicide that was denied."""
    if kind not in _OWN_ACT:
        return ()
    wanted = ("another_topic", told.wish == "distraction"), ("intrusive", told.intrusive)
    believed = ("believed", "suicide" in told.answered and kind in ("direct", "despair"))
    return tuple(name for name, holds in (*wanted, believed) if holds)


def _scenes(told: Told, level: str, kind: str) -> tuple[str, ...]:
    """The cells of a reply's body, the fitting first."""
    if level == "none":
        return (told.wish,)
    if report := _report_cell(kind, told).replace("since_called", "called"):
        return (report,)
    if kind == "third_party" and told.far and level == "high":
        return ("far",)
    if kind == "abuse":
        return ("abuse_young",) if told.young else ()
    if not _minutes(level, kind):
        return _quieter(told, kind) if level in _STEADY else ()
    if kind == "third_party":
        return ("far",) if told.far else ()
    return (told.act or ("wound" if kind == "self_harm" else ""),) if kind in _OWN_ACT else ()


def _urged(words: Tongue, previous: str) -> bool:
    """Whether our last reply told them to call the emergency number at once."""
    last = recognise.plain(_last_reply(previous))
    urgent = [*words.tables["urgent"].values(), *words.tables.get("urgent_later", {}).values()]
    pieces = [recognise.plain(max(line.split("{emergency}"), key=len)).strip() for pool in urgent for line in pool]
    return any(piece in last for piece in pieces if len(piece) > len("please call"))


def _last_reply(previous: str) -> str:
    """Our last reply, where `previous` has one to a line; otherwise as much of the end as one reply takes."""
    last = previous.rstrip().rsplit("\n", 1)[-1]
    return last if "?" in last else previous[-_ABOUT_ONE_REPLY:]


def _minutes(level: str, kind: str) -> bool:
    return level == "imminent" or (kind == "act_under_way" and level != "none")


def _topic(kind: str, categories: Iterable[str]) -> str:
    """What was heard, finer than the kind: 'direct' covers plain words, hints, and a plan."""
    if kind == "none":
        return "unknown"
    if kind != "direct":
        return kind
    present = frozenset(categories)
    if "plan_or_means" in present:
        return "plan"
    return "burden" if "indirect_ideation" in present and "direct_ideation" not in present else "direct"


def _band(level: str, kind: str) -> str:
    if level == "none":
        return "none"
    if kind == "third_party":
        return "third_party"
    return level if level in ("high", "imminent") else "steady"


def _urgent(words: Tongue, kind: str, variant: int, previous: str, emergency: str, first: bool) -> str:
    pool = words.pool("urgent" if first else "urgent_later", kind, "self")
    number = words.emergency(emergency)
    return choose([line.replace("{emergency}", number) for line in pool], variant, previous)


def _safety(words: Tongue, kind: str, variant: int, previous: str) -> str:
    name = "safety_third_party" if kind == "third_party" else "safety"
    question: str = words.tables["question"][name]
    if _used(question, previous):
        return choose(words.pool("question", f"{name}_again", name), variant, previous)
    return question


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def lines(tongue: Tongue) -> Iterator[tuple[str, str]]:
    """Every (cell, line) of a language, references left out: for the tests and for whoever reviews the words."""
    yield from _walk("", tongue.tables)


def _walk(path: str, node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for name, child in node.items():
            yield from _walk(f"{path}.{name}" if path else name, child)
    elif isinstance(node, list):
        for line in node:
            yield path, line
    elif path.startswith("question."):
        yield path, node
