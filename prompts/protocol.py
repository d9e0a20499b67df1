"""Words a request to a model: SOUL.md, the protocol that people read, rendered for one level, situation and person.

Errors: ProtocolError
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

_MARK = re.compile(r"^<!-- *(?:model: *(?P<name>[\w.]+)|(?P<end>end)) *-->[ \t]*$", re.MULTILINE)
_LEVELS = ("none", "low", "moderate", "high", "imminent")
_KINDS = (
    "direct", "third_party", "self_harm", "farewell", "method_seeking", "despair", "act_under_way", "abuse", "violence",
    "psychosis", "medical", "unknown",
)  # fmt: skip
_SIGNALS = (
    "voices", "intoxicated", "minor", "abused_at_home", "maternal", "bereaved", "lgbtq", "veteran", "farmer",
    "fears_god", "religious_harm", "other_faith",
    "denies", "affirms", "asks_resources", "declines_resources", "insults_bot", "asks_if_human",
    "asks_privacy", "asks_hospital", "asks_line", "asks_blessing",
)  # fmt: skip
SECTIONS = (
    "core",
    *(f"level.{name}" for name in _LEVELS),
    *(f"kind.{name}" for name in _KINDS),
    *(f"signal.{name}" for name in _SIGNALS),
    "channel.chat", "channel.sms", "history", "history.after",
    "gospel.silent", "gospel.asked", "gospel.asked_off", "gospel.declined",
)  # fmt: skip
_QUIET_AT_NONE = frozenset({"denies", "affirms", "declines_resources"})
_LANGUAGES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "hi": "Hindi", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian",
    "tl": "Tagalog", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
_PASSAGES = 8
_PASSAGE_CHARACTERS = 600
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BRACKETS = str.maketrans(
    {"<": "‹", ">": "›", "|": "¦"}
)  # so that no chat template's own marks can be written in a history
_TURN_MARK = "\n\n---\nThe person writes:\n"


class ProtocolError(ValueError):
    """SOUL.md cannot be used: says which section is missing, doubled or not closed."""


def protocol_prefix() -> str:
    """The constant core of SOUL.md; every system prompt begins with it, so that an engine can keep it warm."""
    return _sections()["core"] + "\n"


def system_prompt(
    *,
    level: str,
    kind: str,
    language: str,
    channel: str,
    gospel: str,
    signals: frozenset[str],
    context: Sequence[tuple[str, str]] = (),
) -> str:
    """The protocol for one reply: the constant prefix, then what this level, situation and person need.

    gospel is the operator's setting: always, invited or off. context is (id, text) pairs of the person's own history;
    it is fenced, bounded and comes last, so that it stands before the conversation and cannot pass for a rule.
    """
    sections = _sections()
    notes = [  # what most replies share comes first: an engine that has evaluated one has that much of the next
        _language_note(language),
        sections.get(f"channel.{channel}", sections["channel.chat"]),
        sections[_gospel(level, gospel, signals)],
        sections.get(f"level.{level}", sections["level.moderate"]),
        *([] if kind == "none" else [sections.get(f"kind.{kind}", sections["kind.unknown"])]),
        *_signal_notes(sections, level, signals),
    ]
    text = protocol_prefix() + "\nNOTES FOR THIS REPLY\n" + "\n".join(f"- {note}" for note in notes) + "\n"
    return text + _history(sections, context)


def urgent_notes(*, language: str) -> str:
    """What follows the prefix for somebody who may have minutes: engines keep this evaluated too, so that nobody in
    such danger waits for it. The notes that every reply shares stand at its beginning."""
    text = system_prompt(
        level="imminent", kind="direct", language=language, channel="chat", gospel="always", signals=frozenset()
    )
    return text.removeprefix(protocol_prefix())


def fold_system(system: str, turns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The (role, text) turns for a model without a system role: user first, roles alternating, the protocol inside.

    Gemma's template rejects a system role and two turns of one role in a row, so these are joined.
    """
    joined: list[tuple[str, str]] = []
    for role, text in turns:
        if joined and joined[-1][0] == role:
            joined[-1] = (role, f"{joined[-1][1]}\n{text}")
        else:
            joined.append((role, text))
    if not system:
        return joined
    if not joined or joined[0][0] != "user":
        return [("user", system), *joined]
    return [("user", system.rstrip() + _TURN_MARK + joined[0][1]), *joined[1:]]


def parse_sections(text: str, *, required: Iterable[str] = SECTIONS) -> Mapping[str, str]:
    """The parts of SOUL.md that a model is given. Raises ProtocolError unless every required one is there once."""
    found: dict[str, str] = {}
    open_name, start = "", 0
    for mark in _MARK.finditer(text):
        if mark["end"]:
            if not open_name:
                raise ProtocolError("SOUL.md: an '<!-- end -->' closes nothing; put '<!-- model: NAME -->' before it")
            found[open_name] = text[start : mark.start()].strip()
            open_name = ""
        elif open_name:
            raise ProtocolError(f"SOUL.md: the section {open_name!r} is not closed; put '<!-- end -->' after it")
        elif mark["name"] in found:
            raise ProtocolError(f"SOUL.md: the section {mark['name']!r} stands there twice; keep one")
        else:
            open_name, start = mark["name"], mark.end()
    if open_name:
        raise ProtocolError(f"SOUL.md: the section {open_name!r} is not closed; put '<!-- end -->' after it")
    if missing := [name for name in required if not found.get(name)]:
        raise ProtocolError(
            f"SOUL.md: missing or empty: {', '.join(missing)}; write '<!-- model: {missing[0]} -->' … '<!-- end -->'"
        )
    return found


@functools.cache
def _sections() -> Mapping[str, str]:
    return parse_sections((files("prompts") / "SOUL.md").read_text(encoding="utf-8"))


def _signal_notes(sections: Mapping[str, str], level: str, signals: frozenset[str]) -> list[str]:
    quiet = _QUIET_AT_NONE if level == "none" else frozenset()
    return [sections[f"signal.{name}"] for name in _SIGNALS if name in signals and name not in quiet]


def _gospel(level: str, setting: str, signals: frozenset[str]) -> str:
    """Which note on faith: a model may answer a question about it, and never opens the subject (spec ruling 1)."""
    if "declines_faith" in signals:
        return "gospel.declined"
    held_back = level == "imminent" or "voices" in signals
    if "asks_faith" not in signals or held_back:
        return "gospel.silent"
    return "gospel.asked_off" if setting == "off" or "other_faith" in signals else "gospel.asked"


def _language_note(language: str) -> str:
    name = _LANGUAGES.get(language.lower().split("-")[0])
    if name is None:
        return "Write in the language the person writes in."
    return f"Write in {name}."


def _history(sections: Mapping[str, str], context: Sequence[tuple[str, str]]) -> str:
    lines = [line for identity, text in context[:_PASSAGES] for line in _fenced(identity, text)]
    if not lines:
        return ""
    return "\n".join(["", sections["history"], *lines, sections["history.after"], ""])


def _fenced(identity: str, text: str) -> list[str]:
    """Every line behind a bar, without control characters or brackets: nothing in it can look like a rule or a role."""
    clean = _CONTROL.sub(" ", text.translate(_BRACKETS))[:_PASSAGE_CHARACTERS]
    name = re.sub(r"[^\w-]", "", identity)[:40]
    parts = [" ".join(line.split()) for line in clean.splitlines()]
    return [f"| [{name}] {line}" for line in parts if line]
