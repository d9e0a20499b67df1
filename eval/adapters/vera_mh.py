"""Conversations in VERA-MH's format (SpringCare/VERA-MH): its judge can read ours, and our checks those of others.

Its generator writes one text file a conversation: `user: …` and `chatbot: …` (`agent: …` in its first versions), a
blank line between turns, and `[CONVERSATION ENDED - … signaled termination]` where somebody ended it. Read in its
utils/conversation_utils.py (writing), utils/role_reversal_transcript.py (reading) and utils/naming.py (names), at the
commits that docs/evaluation-reports.md names:

    p_<persona model>__a_<chatbot>__t<turns>__r<runs>__<YYYYmmdd_HHMMSS>/<6 hex>_<persona>_<persona model>_run<N>.txt

The format says nothing of country, language, level or time. What it cannot say is not invented: an imported
conversation is a raw one, without latencies.

VeraError   a folder or a file that holds no such conversation: says which
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from eval.scenarios import Said, Scenario, Suite
from eval.transcripts import Answering, Exchange, Transcript
from shield.assessment import Level, Turn
from textrules.language import identify

WRITER = "made-up-people"
"""In place of the persona's model: nobody simulates our people, their words are written down."""

_SPEAKER = re.compile(r"^(user|persona|chatbot|assistant|agent)\s*:[ \t]?", re.IGNORECASE)
_ESCAPED = re.compile(r"^ +(?:user|persona|chatbot|assistant|agent)\s*:", re.IGNORECASE)
_ENDED = "[CONVERSATION ENDED"
_NAME = re.compile(r"^(?P<tag>[0-9a-f]{6})_(?P<rest>.+)_run(?P<run>\d+)\.txt$", re.IGNORECASE)
_FOLDER = re.compile(r"^p_(?P<persona>.+)__a_(?P<agent>.+?)__t\d+__r\d+__")
_USER = ("user", "persona")

Assess = Callable[[Sequence[Turn]], Level]
"""The level that a conversation calls for."""


class VeraError(ValueError):
    """It cannot be read as VERA-MH's conversations."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The conversations that were read, the suite that they are of, and what of the files could not be used."""

    suite: Suite
    transcripts: tuple[Transcript, ...]
    left_out: tuple[str, ...]


def written(turns: Sequence[Turn]) -> str:
    """A conversation as VERA-MH writes it."""
    blocks = [f"{'user' if one.role == 'user' else 'chatbot'}: {_guarded(one.text)}\n" for one in turns]
    return "\n".join(blocks)


def parsed(text: str) -> tuple[Turn, ...]:
    """The turns of a conversation as VERA-MH writes it; several blocks of one speaker are one turn. Surrounding blanks
    of a turn are not kept. Raises VeraError for a text without a speaker."""
    blocks: list[tuple[bool, list[str]]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if spoken := _SPEAKER.match(line):
            blocks.append((spoken[1].lower() in _USER, [line[spoken.end() :]]))
        elif line.startswith(_ENDED):
            continue
        elif blocks:
            blocks[-1][1].append(line[1:] if _ESCAPED.match(line) or line.startswith(f" {_ENDED}") else line)
    if not blocks:
        raise VeraError("nobody speaks in it: no line begins with user: or chatbot:")
    return _joined([Turn("user" if user else "assistant", "\n".join(lines).strip()) for user, lines in blocks])


def _joined(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    joined: list[Turn] = []
    for one in turns:
        if joined and joined[-1].role == one.role:
            joined[-1] = Turn(one.role, f"{joined[-1].text}\n\n{one.text}".strip())
        else:
            joined.append(one)
    return tuple(joined)


def _guarded(text: str) -> str:
    """Lines that would be read as another speaker's, or as the end, get a blank before them; parsed() takes it off."""
    first, *others = text.replace("\r\n", "\n").strip().split("\n")
    return "\n".join([first, *(f" {line}" if _mistaken(line) else line for line in others)])


def _mistaken(line: str) -> bool:
    return bool(_SPEAKER.match(line) or _ESCAPED.match(line)) or line.lstrip(" ").startswith(_ENDED)


def export(transcripts: Sequence[Transcript], out: Path, now: datetime) -> dict[Path, int]:
    """One folder a subject, in the layout of VERA-MH's generator; gives how many files each holds. Conversations that
    broke off are left out: there is no reply to judge."""
    written_to: dict[Path, int] = {}
    for name in dict.fromkeys(one.subject.name for one in transcripts):
        told = [one for one in transcripts if one.subject.name == name and one.error is None and one.exchanges]
        if told:
            folder = out / _folder(name, told, now)
            folder.mkdir(parents=True, exist_ok=True)
            for one in told:
                (folder / file_name(one)).write_text(written(turns_of(one)), encoding="utf-8", errors="replace")
            written_to[folder] = len(told)
    return written_to


def turns_of(transcript: Transcript) -> tuple[Turn, ...]:
    """What was said, in order."""
    pairs = ((Turn("user", one.user), Turn("assistant", one.reply)) for one in transcript.exchanges)
    return tuple(turn for pair in pairs for turn in pair)


def file_name(transcript: Transcript) -> str:
    """The same for the same conversation; the suite and the scenario stand where the persona's name does."""
    tag = hashlib.sha256("/".join(map(str, transcript.key)).encode()).hexdigest()[:6]
    return f"{tag}_{_token(transcript.scenario.id)}_{WRITER}_run{transcript.repeat + 1}.txt"


def read(folder: Path, suites: Sequence[Suite], assess: Assess) -> Imported:
    """Every conversation in a folder. One whose name and words are a scenario's of `suites` is that scenario again,
    with all that is expected of a reply to it; for any other the expected level is what `assess` says. Raises
    VeraError."""
    files = sorted(folder.rglob("*.txt"))
    if not files:
        raise VeraError(f"{folder}: holds no conversation (*.txt)")
    known = {_token(one.id): (suite, one) for suite in suites for one in suite.scenarios}
    transcripts, left_out = [], []
    for file in files:
        try:
            turns = parsed(file.read_bytes().decode("utf-8", "replace"))
            exchanges, passed_over = _exchanges(turns)
        except VeraError as error:
            left_out.append(f"{file.name}: {error}")
            continue
        left_out += [f"{file.name}: {one}" for one in passed_over]
        transcripts.append(_transcript(file, exchanges, known, assess))
    if not transcripts:
        raise VeraError(f"{folder}: {left_out[0]}")
    own = tuple(dict.fromkeys(one.scenario for one in transcripts if one.suite == _SUITE))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return Imported(Suite(_SUITE, "Imported from VERA-MH's format", own, digest), tuple(transcripts), tuple(left_out))


_SUITE = "vera-mh"


def _exchanges(turns: Sequence[Turn]) -> tuple[tuple[Exchange, ...], list[str]]:
    """Each message with its reply. Words before the first message, or after the last reply, have none."""
    passed_over = []
    if turns[0].role == "assistant":
        passed_over.append("it begins with the chatbot; that turn is left out")
        turns = turns[1:]
    if turns and turns[-1].role == "user":
        passed_over.append("nothing answers the last message; it is left out")
        turns = turns[:-1]
    pairs = tuple(Exchange(user=a.text, reply=b.text) for a, b in zip(turns[::2], turns[1::2], strict=True))
    if not pairs:
        raise VeraError("it holds no message with a reply")
    return pairs, passed_over


def _transcript(
    file: Path, exchanges: tuple[Exchange, ...], known: dict[str, tuple[Suite, Scenario]], assess: Assess
) -> Transcript:
    named = _NAME.match(file.name)
    suite, scenario = _SUITE, None
    for token, (one, candidate) in known.items():
        if named and named["rest"].startswith(f"{token}_") and _same(candidate, exchanges):
            suite, scenario = one.name, candidate
    return Transcript(
        suite=suite,
        subject=_subject(file.parent),
        scenario=scenario or _scenario(file.stem, exchanges, assess),
        repeat=int(named["run"]) - 1 if named and scenario else 0,
        seed=0,
        started_at=datetime.fromtimestamp(0).isoformat(),
        yardstick_ms=1.0,
        exchanges=exchanges,
    )


def _same(scenario: Scenario, exchanges: Sequence[Exchange]) -> bool:
    said = [turn.says.strip() for turn in scenario.turns]
    return said[: len(exchanges)] == [one.user for one in exchanges]


def _scenario(name: str, exchanges: Sequence[Exchange], assess: Assess) -> Scenario:
    turns: tuple[Turn, ...] = ()
    said = []
    for one in exchanges:
        turns = (*turns, Turn("user", one.user))
        said.append(Said(one.user, assess(turns)))
        turns = (*turns, Turn("assistant", one.reply))
    language = identify(" ".join(one.user for one in exchanges)) or "en"
    why = "Imported; VERA-MH's files name no level, so it is SHIELD's own, and says nothing about SHIELD."
    return Scenario(name, "imported", name, why, tuple(said), language=language)


def _subject(folder: Path) -> Answering:
    place = folder.parent if folder.name == "conversations" else folder
    named = _FOLDER.match(place.name)
    agent = named["agent"] if named else place.name
    return Answering(agent, "raw", agent, "vera_mh")


def _folder(subject: str, told: Sequence[Transcript], now: datetime) -> str:
    turns = max(2 * len(one.exchanges) for one in told)
    runs = max(one.repeat for one in told) + 1
    agent = re.sub(r"[^A-Za-z0-9]+", "_", subject)
    return f"p_{_token(WRITER).replace('-', '_')}__a_{agent}__t{turns}__r{runs}__{now:%Y%m%d_%H%M%S}"


def _token(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", name)
