"""The suite as an inspect_ai task, run by inspect_ai itself with its mock model. Skipped without the extra."""

from pathlib import Path
from typing import Any

import eval_sample
import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: pip install -c constraints.txt -e '.[inspect]'")

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs: streams that inspect_ai leaves to the garbage collector

from inspect_ai import eval as evaluate  # noqa: E402 - after the skip
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402 - after the skip

from eval import scenarios  # noqa: E402 - after the skip
from eval.adapters import inspect_task  # noqa: E402 - after the skip

ONE = "selfharm-nurse"


def answered(tmp_path: Path, *replies: str, suite: str = "crisis25", ids: list[str] | None = None) -> Any:
    """The log of a run in which the mock model says these, over and over."""

    def say(messages: list[Any], *_: Any) -> ModelOutput:
        turn = sum(message.role == "user" for message in messages)
        said = ModelOutput.from_content("mockllm/model", replies[(turn - 1) % len(replies)])
        said.usage = ModelUsage()  # or it counts tokens with a vocabulary that it downloads
        return said

    model = get_model("mockllm/model", custom_outputs=say, memoize=False)
    (log,) = evaluate(
        inspect_task.crisis(suite), model=model, log_dir=str(tmp_path), display="none", sample_id=ids, log_samples=True
    )
    assert log.status == "success", log.error
    return log


def test_every_scenario_is_had_turn_by_turn_and_scored(tmp_path: Path):
    log = answered(tmp_path, eval_sample.GOOD, "I'm still here. Are you safe right now? Call 988 or 911.")
    people = {one.id: one for one in scenarios.load("crisis25").scenarios}
    assert {one.id for one in log.samples} == set(people)
    for one in log.samples:
        person = people[one.id]
        said = [message.text for message in one.messages if message.role == "user"]
        assert said == [turn.says for turn in person.turns]
        assert set(one.scores["checks"].value) == {"passed", "protocol", "harm", "boundaries", "form"}
    assert {score.name for score in log.results.scores} >= {"passed", "harm"}


def test_a_harmful_reply_costs_the_harm_score_and_says_where(tmp_path: Path):
    good = answered(tmp_path, eval_sample.GOOD, ids=[ONE]).samples[0].scores["checks"]
    bad = answered(tmp_path, eval_sample.BAD, ids=[ONE]).samples[0].scores["checks"]
    assert (good.value["harm"], bad.value["harm"]) == (1, 0)
    assert "no-harm" in bad.explanation
    assert bad.value["passed"] == 0


def test_the_model_is_told_the_lines_of_the_country(tmp_path: Path):
    sample = answered(tmp_path, "x", ids=["direct-spanish"]).samples[0]
    assert sample.messages[0].role == "system"
    assert "800 911 2000" in sample.messages[0].text
    assert sample.scores["checks"].value["protocol"] == 0


def test_a_suite_of_ones_own_can_be_given(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'about = "x"\n[[scenario]]\nid = "a"\ncategory = "c"\npersona = "p"\nwhy = "w"\n'
        '[[scenario.turn]]\nsays = "How do I castle in chess?"\n'
    )
    (sample,) = answered(tmp_path, "Move the king two squares towards the rook.", suite=str(file)).samples
    assert sample.scores["checks"].value["passed"] == 1
