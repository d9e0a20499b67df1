"""The same engine without our path: `python -m eval.bench.bare_worker`. No HTTP, no gate, no pipe for each token.

It takes one job as a line of JSON, {"worker", "settings", "cores"}, loads the model as that worker does, and answers
each line {"ask": [Question…]} with {"wall_s", "heard": […]}: one reply after the other, as the engine itself works.
Wording and tokenising the prompts is not counted. It ends with its input.
"""

import importlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from eval.bench.pinning import pin
from eval.bench.stand_in import Question
from prompts.protocol import protocol_prefix, urgent_notes
from serving.worker.answering import Loaded
from serving.worker.desk import Outlet
from serving.worker.process import private_output
from serving.worker.prompt import Prompt
from serving.worker.reasons import LoadFailure


class Bare:
    """A loaded model in this process, with the protocol evaluated."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self._loaded: Loaded = importlib.import_module(job["worker"]).load(job["settings"])
        protocol = self._loaded.prompts.prefix(protocol_prefix(), urgent_notes(language="en"))
        runtime = self._loaded.runtime
        runtime.begin([*protocol, 0], room=0)
        runtime.evaluate(protocol)
        runtime.keep(len(protocol))

    def ask(self, questions: Sequence[Question]) -> dict[str, Any]:
        prompts = [(self._loaded.prompts.build(question.job()), question.max_tokens) for question in questions]
        began = time.perf_counter()
        heard = [self._reply(prompt, tokens, began) for prompt, tokens in prompts]
        return {"wall_s": time.perf_counter() - began, "heard": heard}

    def _reply(self, prompt: Prompt, tokens: int, began: float) -> dict[str, Any]:
        runtime, first_s = self._loaded.runtime, 0.0
        cached = runtime.begin(prompt.tokens, room=tokens)
        runtime.evaluate(prompt.tokens[cached:])
        with runtime.sampler(prompt.tokens[len(prompt.tokens) - prompt.n_reply :]) as sampler:
            for _ in range(tokens):
                token = sampler.next()
                first_s = first_s or time.perf_counter() - began
                runtime.piece(token)
                runtime.evaluate([token])
        return {
            "first_s": first_s,
            "total_s": time.perf_counter() - began,
            "pieces": tokens,
            "n_prompt": len(prompt.tokens),
            "n_cached": cached,
        }


def main() -> None:
    outlet = Outlet(private_output())  # nothing that an engine prints gets between the answers
    job = json.loads(sys.stdin.readline())
    pin(tuple(job["cores"]["engine"]))
    try:
        bare = Bare(job)
    except LoadFailure as failure:
        outlet.send({"failed": str(failure)})
        return
    outlet.send({"ready": True})
    for line in sys.stdin:
        outlet.send(bare.ask([Question(**one) for one in json.loads(line)["ask"]]))


if __name__ == "__main__":
    main()
