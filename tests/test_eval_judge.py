"""The judge: strictly read, blind, its questions in another order each time, agreement and its own model reported."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import judge, opinions, rubric, transcripts
from eval.judge import Judgement
from eval.rubric import DIMENSIONS, RATINGS, SCALES, Unreadable
from eval.transcripts import Transcript
from serving.backend import BackendUnavailable
from serving.backends.scripted import ScriptedBackend
from tests.evaluating import Evaluation, scripted, served

ANSWER = {**dict.fromkeys(SCALES, 6), **dict.fromkeys(DIMENSIONS, "best")}


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    made = Evaluation(tmp_path / "run", tmp_path / "baselines")
    made.run(served(scripted))
    return made


def judged(evaluation: Evaluation, backend: Any, rounds: int = 2) -> list[Judgement]:
    seen: list[Judgement] = []
    asyncio.run(judge.judge(evaluation.seen, backend, evaluation.folder, rounds=rounds, seed=1, step=seen.append))
    return seen


def figures(evaluation: Evaluation) -> dict[str, Any]:
    told: dict[str, Any] = evaluation.made().report["subjects"][0]["suites"]["three"]["judge"]
    return told


def test_what_a_judge_says_becomes_figures(evaluation: Evaluation) -> None:
    judged(evaluation, ScriptedBackend([json.dumps(ANSWER)]))
    told = figures(evaluation)
    assert (told["scored"], told["unscored"]) == (6, 0)
    assert told["empathy"] == {"mean": 6, "low": 6, "high": 6, "of": 3}
    assert told["harmful"]["hits"] == 0
    assert told["boundaries"]["hits"] == 3
    assert told["agreement"]["empathy"] == 1
    assert told["judge"]["prompt"] == rubric.VERSION


def test_without_a_judge_there_is_the_word_and_no_number(evaluation: Evaluation) -> None:
    assert figures(evaluation) == {"unscored": "no judge was set"}
    assert evaluation.made().report["run"]["judge"] is None


def test_a_judge_that_rates_its_own_model_is_told_of(evaluation: Evaluation) -> None:
    judged(evaluation, ScriptedBackend([json.dumps(ANSWER)], model="another"))
    assert figures(evaluation)["own_model"] is False
    (evaluation.folder / judge.FILE).unlink()
    judged(evaluation, ScriptedBackend([json.dumps(ANSWER)], model="scripted"))
    assert figures(evaluation)["own_model"] is True
    assert evaluation.made().report["run"]["judge"]["own_model_of"] == ["service"]


def test_a_judge_is_not_told_who_answered_and_no_line_of_it_can_pass_for_an_instruction(
    evaluation: Evaluation,
) -> None:
    backend = ScriptedBackend([json.dumps(ANSWER)])
    judged(evaluation, backend, rounds=1)
    for request in backend.requests:
        (turn,) = request.turns
        assert "scripted" not in turn.text + request.system
        assert "service" not in turn.text
        body = turn.text.split("\n\n", 1)[1]
        assert all(line.startswith(("| PERSON: ", "| REPLY: ")) for line in body.splitlines())


def test_questions_come_in_another_order_each_time_and_the_same_order_again() -> None:
    orders = {rubric.order(f"1/x/{turn}") for turn in range(20)}
    assert len(orders) > 10
    assert all(sorted(one) == sorted([*SCALES, *DIMENSIONS]) for one in orders)
    assert rubric.order("1/x/3") == rubric.order("1/x/3")
    first, second = ("empathy", "boundaries"), ("boundaries", "empathy")
    for order in (first, second):
        text = rubric.system(order)
        assert text.index(f'- "{order[0]}"') < text.index(f'- "{order[1]}"')


def test_the_conversations_are_judged_in_an_order_of_their_own(evaluation: Evaluation) -> None:
    said = [(one.scenario, one.round) for one in judged(evaluation, ScriptedBackend([json.dumps(ANSWER)]), rounds=4)]
    assert said != sorted(said, key=lambda one: ["plain", "goodbye", "rice"].index(one[0]))


def test_what_was_judged_is_not_asked_again(evaluation: Evaluation) -> None:
    assert len(judged(evaluation, ScriptedBackend([json.dumps(ANSWER)]))) == 6
    assert judged(evaluation, ScriptedBackend([json.dumps(ANSWER)])) == []
    assert len(judged(evaluation, ScriptedBackend([json.dumps(ANSWER)]), rounds=3)) == 3


def test_a_judge_that_is_not_there_leaves_it_unscored(evaluation: Evaluation) -> None:
    judged(evaluation, ScriptedBackend([BackendUnavailable("secret words")]))
    told = figures(evaluation)
    assert told["unscored_why"] == {"the judge is not there: unavailable": 6}
    assert told["empathy"] is None


def test_agreement_is_of_the_rounds_over_the_same_conversation() -> None:
    def one(turn: int, **other: Any) -> Judgement:
        scores = ANSWER | other
        return Judgement("s", "a", "x", 0, {}, turn, (), json.dumps(scores), scores)

    told = opinions.agreement([one(0), one(1, empathy=7, boundaries="harmful"), one(2, empathy=9)])
    assert told["empathy"] == pytest.approx(1 / 3, abs=0.001)  # 6 and 7 are near; 6 and 9, 7 and 9 are not
    assert told["boundaries"] == pytest.approx(1 / 3, abs=0.001)
    assert told["protocol"] == 1
    assert opinions.agreement([one(0)]) == {}


def test_a_score_that_was_written_into_the_file_by_hand_does_not_count(evaluation: Evaluation) -> None:
    judged(evaluation, ScriptedBackend(["I would say ten."]))
    file = evaluation.folder / judge.FILE
    rows = [json.loads(line) | {"scores": ANSWER, "unscored": None} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert figures(evaluation)["scored"] == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"empathy": 11},
        {"empathy": -1},
        {"empathy": 6.5},
        {"empathy": "6"},
        {"empathy": True},
        {"empathy": None},
        {"supportive": "good"},
        {"supportive": "best, harmful"},
        {"supportive": ["best"]},
        {"why": "because"},
    ],
)
def test_anything_but_the_form_is_unreadable(changed: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        rubric.read(json.dumps(ANSWER | changed))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "6",
        f"Here you are: {json.dumps(ANSWER)}",
        f"{json.dumps(ANSWER)}\nI hope that helps.",
        f"```json\n{json.dumps(ANSWER)}\n```",
        json.dumps(ANSWER)[:-1],
        json.dumps(ANSWER)[:-1] + ', "empathy": 10}',
        json.dumps({key: value for key, value in ANSWER.items() if key != "protocol"}),
        "[" * 100_000,
    ],
)
def test_a_form_around_or_beside_the_answer_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        rubric.read(text)


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_no_text_but_the_form_ever_gives_a_score(text: str) -> None:
    with pytest.raises(Unreadable):
        rubric.read(text)


@given(
    st.fixed_dictionaries(
        {
            **{name: st.integers(0, 10) for name in SCALES},
            **{name: st.sampled_from(RATINGS) for name in DIMENSIONS},
        }
    )
)
def test_every_answer_of_the_form_is_read_as_it_is(answer: dict[str, Any]) -> None:
    assert rubric.read(json.dumps(answer)) == answer


def test_the_mean_holds_its_interval() -> None:
    told = opinions.mean([2.0, 4.0, 6.0, 8.0])
    assert told is not None
    assert told["mean"] == 5
    assert told["low"] < 5 < told["high"]
    assert opinions.mean([]) is None


def test_a_conversation_that_broke_off_is_not_judged(evaluation: Evaluation) -> None:
    (first, *_) = transcripts.read(evaluation.folder)
    broken = Transcript.from_json(first.to_json() | {"exchanges": [first.to_json()["exchanges"][0] | {"error": "x"}]})
    evaluation.seen = [broken]
    assert judged(evaluation, ScriptedBackend([json.dumps(ANSWER)])) == []
