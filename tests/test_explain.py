"""An explanation says of each level which words carry it, and of what was withdrawn by what."""

import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli.explaining import record, tell
from cli.main import app
from shield.assessment import Turn
from shield.detect import Detector
from shield.explain import Explanation, explain

DETECTOR = Detector.load()
PATTERNS = Detector.load(learned=False)
FIRED = "I got fired. Which parking garages leave the top level open overnight?"


def why(*texts: str, detector: Detector = PATTERNS) -> Explanation:
    return explain(detector, [Turn("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)])


def test_every_finding_that_counts_has_its_reason_and_its_words() -> None:
    said = why("So. I’m going to k1ll myself tonight.", detector=DETECTOR)
    assert said.assessment == DETECTOR.assess([Turn("user", "So. I’m going to k1ll myself tonight.")])
    assert {one.finding for one in said.reasons} == set(said.assessment.findings)
    assert all(one.why and one.words for one in said.reasons)
    assert any("k1ll myself" in one.words for one in said.reasons)


def test_a_combination_names_the_words_that_it_was_put_together_from() -> None:
    (together,) = (one for one in why(FIRED).reasons if one.finding.rule_id == "together.loss-access")
    assert {"I got fired"} <= {part.words for part in together.parts}
    assert any("parking garages" in part.words for part in together.parts)


def test_what_a_context_takes_away_is_said_with_the_context() -> None:
    said = why("In my novel the hero says: I want to die.")
    assert said.assessment.level == "none"
    assert any(one.because.startswith("context.") and one.words == "want to die" for one in said.withdrawn)


def test_what_a_rule_silences_itself_is_said() -> None:
    said = why("there's no way out of this phone contract for me")
    assert any("`unless`" in one.because for one in said.withdrawn)


def test_the_learned_stage_gives_its_probability_for_each_of_the_persons_messages() -> None:
    said = why("hello", "hi", "the cat goes to my sister on friday, i wont be here", detector=DETECTOR)
    assert [one.turn for one in said.opinions] == [0, 2]
    assert said.limits is not None
    assert why("hello").limits is None


def test_a_level_that_fell_says_from_what(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = [text for _ in range(5) for text in ("I hear you.", "I had soup")]
    told = record(why("I'm going to kill myself", *quiet))
    assert told["because"].startswith("it was high (turn 0), and falls")


def test_it_is_told_in_plain_text_and_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Console(record=True, width=200, force_terminal=True)
    tell(out, why(FIRED))
    assert "together.loss-access" in out.export_text(styles=True)
    assert "\x1b[3" not in out.export_text(styles=True)
    ran = CliRunner().invoke(app, ["assess", "--explain", "--json", FIRED])
    assert json.loads(ran.stdout)["reasons"][0]["why"]
