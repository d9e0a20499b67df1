"""Our suites as an inspect_ai task (UKGovernmentBEIS/inspect_ai), for any model that its tooling reaches.

    inspect eval eval/adapters/inspect_task.py --model PROVIDER/MODEL -T suite=crisis25

The model answers raw, with the prompt of eval/prompts: this measures it, not the service around it. Scores are our
deterministic checks, a 0 or a 1 for each of their dimensions; nothing is judged by a model. Needs the extra `inspect`.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, accuracy, scorer, stderr
from inspect_ai.solver import solver

from eval import scenarios
from eval.findings import Dimension
from eval.scenarios import Scenario
from eval.subjects import raw_prompt
from eval.transcripts import Answering, Exchange, Transcript
from eval.verdicts import Examiner, Verdict
from safety_filter.helplines import Helplines

DIMENSIONS: tuple[Dimension, ...] = ("protocol", "harm", "boundaries", "form")
"""Those that a raw model is held to: a level is SHIELD's."""

_TIMES = "crisis_times_ms"


@task  # type: ignore[untyped-decorator] # inspect_ai is an extra that mypy is not shown
def crisis(suite: str = "crisis25", max_tokens: int = 220) -> Any:
    """One sample a scenario; `suite` is a name of eval/suites or the path of a TOML file."""
    helplines = Helplines.load()
    people = scenarios.load(suite)
    return Task(
        dataset=[sample(one, helplines) for one in people.scenarios],
        solver=conversation(max_tokens=max_tokens),
        scorer=checks(people.name),
        name=f"crisis-{people.name}",
        metadata={"suite": people.name, "digest": people.digest},
    )


def sample(scenario: Scenario, helplines: Helplines) -> Any:
    """The prompt and the first message; the others follow one by one. `target` tells readers what a good reply does."""
    return Sample(
        id=scenario.id,
        input=[
            ChatMessageSystem(content=raw_prompt(scenario, helplines)),
            ChatMessageUser(content=scenario.turns[0].says),
        ],
        target=list(scenario.must) or scenario.why,
        metadata={"scenario": scenario.to_json(), "category": scenario.category},
    )


@solver  # type: ignore[untyped-decorator] # see above
def conversation(max_tokens: int = 220) -> Any:
    """Every turn of the person, each after the model's answer to the one before."""

    async def solve(state: Any, generate: Callable[..., Any]) -> Any:
        said, times = _scenario(state).turns, []
        for place, turn in enumerate(said):
            if place:
                state.messages.append(ChatMessageUser(content=turn.says))
            began = time.perf_counter()
            state = await generate(state, max_tokens=max_tokens)
            times.append((time.perf_counter() - began) * 1000)
        state.metadata[_TIMES] = times
        return state

    return solve


@scorer(metrics={"*": [accuracy(), stderr()]})  # type: ignore[untyped-decorator] # see above
def checks(suite: str) -> Any:
    """1 where everything held in a dimension, or nothing of it applies; `passed` is all of them."""
    examiner = Examiner.load()

    async def score(state: Any, target: Any) -> Any:
        verdict = examiner.examine(transcript(state, suite))
        held = {str(name): int(verdict.of(name) in (None, "pass")) for name in DIMENSIONS}
        return Score(
            value={"passed": int(verdict.outcome == "pass")} | held,
            answer=state.output.completion,
            explanation=_told(verdict),
        )

    return score


def transcript(state: Any, suite: str) -> Transcript:
    """What was said, as our runner keeps it."""
    scenario = _scenario(state)
    model = str(state.model)
    replies = [message.text for message in state.messages if message.role == "assistant"]
    times: Sequence[float | None] = state.metadata.get(_TIMES) or [None] * len(replies)
    return Transcript(
        suite=suite,
        subject=Answering(model, "raw", model, "inspect_ai"),
        scenario=scenario,
        repeat=state.epoch - 1,
        seed=0,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        yardstick_ms=1.0,
        exchanges=tuple(
            Exchange(user=said.says, reply=reply.strip(), model=model, timings={"total_ms": taken})
            for said, reply, taken in zip(scenario.turns, replies, times, strict=True)
        ),
    )


def _scenario(state: Any) -> Scenario:
    return Scenario.from_json(state.metadata["scenario"])


def _told(verdict: Verdict) -> str:
    faults = [
        f"turn {place + 1}, {one.check}: {one.why}"
        for place, found in enumerate(verdict.exchanges)
        for one in found
        if one.outcome != "pass"
    ]
    return "\n".join(faults) or "every check passed"
