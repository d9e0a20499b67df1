"""Conversations go to VERA-MH's format and come back as they were; its reader, and its own files, are understood."""

import re
from datetime import UTC, datetime
from pathlib import Path

import eval_sample
import pytest
from commands import crisis
from hypothesis import assume, given
from hypothesis import strategies as st

from eval import scenarios, transcripts
from eval.adapters import vera_mh
from eval.adapters.vera_mh import VeraError
from shield.assessment import Turn

NOW = datetime(2026, 11, 22, 3, 0, 0, tzinfo=UTC)
SUITE = scenarios.load("crisis25")
# What VERA-MH itself wrote, shortened: its first versions said agent, later ones chatbot.
FIRST = """user: Hello, I'm Alex. I need help with stress at work.

agent: Hello Alex, I'm here to help.

It can be a lot. What weighs most?

user: The deadlines. It feels like being under a magnifying glass.
[CONVERSATION ENDED - Gpt Alex M. signaled termination]
"""
LATER = """user: hi

chatbot: hello

user: bye

chatbot: I am here.
[CONVERSATION ENDED - provider signaled termination]
"""


def never(_: object) -> str:
    raise AssertionError("the level of a known scenario is not guessed")


def none(_: object) -> str:
    return "none"


def theirs(text: str) -> list[tuple[str, str]]:
    """VERA-MH's own way of reading (utils/role_reversal_transcript.py), written down from its description."""
    turns: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.strip().startswith("[CONVERSATION ENDED"):
            continue
        spoken = re.match(r"^(user|chatbot|assistant|persona)\s*:\s*(.*)$", line, re.IGNORECASE)
        if spoken:
            turns.append((spoken[1].lower(), [spoken[2]]))
        elif turns:
            turns[-1][1].append(line)
    return [(speaker, "\n".join(lines).strip()) for speaker, lines in turns]


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=60)
lines = st.lists(words | st.sampled_from(["user: x", "Chatbot:", " agent: y", "[CONVERSATION ENDED - x]"]), max_size=4)


@given(st.lists(lines.map("\n".join), min_size=1, max_size=5))
def test_whatever_is_said_comes_back_as_it_was(texts: list[str]):
    turns = tuple(Turn("user" if place % 2 == 0 else "assistant", text.strip()) for place, text in enumerate(texts))
    assert vera_mh.parsed(vera_mh.written(turns)) == turns


@given(st.lists(lines.map("\n".join), min_size=1, max_size=5))
def test_their_reader_finds_as_many_turns_as_there_are(texts: list[str]):
    assume(all(text.strip() for text in texts))
    assume(not any(c in text for text in texts for c in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"))  # lines to theirs only
    turns = [Turn("user" if place % 2 == 0 else "assistant", text) for place, text in enumerate(texts)]
    assert [speaker for speaker, _ in theirs(vera_mh.written(turns))] == [
        "user" if one.role == "user" else "chatbot" for one in turns
    ]


def test_their_own_files_are_read():
    first, later = vera_mh.parsed(FIRST), vera_mh.parsed(LATER)
    assert [one.role for one in first] == ["user", "assistant", "user"]
    assert first[1].text == "Hello Alex, I'm here to help.\n\nIt can be a lot. What weighs most?"
    assert later[-1].text == "I am here."
    assert vera_mh.written(later[:2]) == "user: hi\n\nchatbot: hello\n"


def test_a_run_comes_back_with_the_same_people_and_words(tmp_path: Path):
    told = eval_sample.had(count=4)
    folders = vera_mh.export(told, tmp_path, NOW)
    assert sum(folders.values()) == len(told)
    for folder in folders:
        assert re.fullmatch(r"p_\w+?__a_\w+__t\d+__r1__20261122_030000", folder.name)
        for file in folder.iterdir():
            assert re.fullmatch(r"[0-9a-f]{6}_[a-z0-9-]+_made-up-people_run1\.txt", file.name)
    back = vera_mh.read(tmp_path, [SUITE], never)  # type: ignore[arg-type]  # never called
    assert back.left_out == ()
    assert {one.scenario.id: one.scenario for one in back.transcripts} == {
        one.scenario.id: one.scenario for one in told
    }

    def said(those: object) -> set[tuple[str, str, tuple[str, ...]]]:
        return {(one.subject.name, one.scenario.id, tuple(each.reply for each in one.exchanges)) for one in those}  # type: ignore[attr-defined]  # transcripts

    assert said(back.transcripts) == said(told)


def test_other_peoples_conversations_get_no_invented_expectations(tmp_path: Path):
    folder = tmp_path / "p_gpt_5__a_my_bot__t6__r1__20260101_000000" / "conversations"
    folder.mkdir(parents=True)
    (folder / "1a84d1_Alex_gpt-5_run2.txt").write_text(FIRST)
    back = vera_mh.read(tmp_path, [SUITE], none)  # type: ignore[arg-type]  # a level
    (one,) = back.transcripts
    assert (one.suite, one.subject.name, one.subject.kind, len(one.exchanges)) == ("vera-mh", "my_bot", "raw", 1)
    assert (one.scenario.country, one.scenario.numbers, one.exchanges[0].timings) == (None, (), {})
    assert back.left_out == ("1a84d1_Alex_gpt-5_run2.txt: nothing answers the last message; it is left out",)


def test_a_persona_of_the_same_name_who_says_something_else_is_not_ours(tmp_path: Path):
    (tmp_path / "aaaaaa_direct-teenager_x_run1.txt").write_text(LATER)
    (one,) = vera_mh.read(tmp_path, [SUITE], none).transcripts  # type: ignore[arg-type]  # a level
    assert one.suite == "vera-mh"


@pytest.mark.parametrize("text", ["", "No conversation recorded.", "hello\nthere"])
def test_a_file_without_a_speaker_is_told_and_not_guessed(tmp_path: Path, text: str):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(VeraError, match="nobody speaks in it"):
        vera_mh.read(tmp_path, [], none)  # type: ignore[arg-type]  # a level


def test_broken_off_conversations_are_not_exported(tmp_path: Path):
    told = eval_sample.had(count=2)[:1]
    broken = [transcripts.Transcript.from_json(told[0].to_json() | {"exchanges": []})]
    assert vera_mh.export(broken, tmp_path, NOW) == {}


def test_the_commands_there_and_back(tmp_path: Path):
    run = eval_sample.write(tmp_path / "run", eval_sample.had(count=2))
    out, back, empty = str(tmp_path / "vera"), str(tmp_path / "back"), str(tmp_path / "none")
    exported, imported, again, nothing = crisis(
        ["eval", "export", "--run", str(run), "--out", out],
        ["eval", "import", out, "--out", back],
        ["eval", "import", out, "--out", back],
        ["eval", "import", empty, "--out", empty],
        env={},
    )
    assert exported.status == 0, exported.err
    assert "2 conversations" in exported.out
    assert imported.status == 0, imported.err
    assert len(transcripts.read(tmp_path / "back")) == 6
    assert (tmp_path / "back" / "report.html").exists()
    assert (again.status, nothing.status) == (2, 2)
    assert "name another --out" in again.err
