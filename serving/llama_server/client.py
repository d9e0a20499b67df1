"""What we say to a llama.cpp server: what it is, how it cuts text into tokens, and the text that it generates.

Prompts are sent as tokens, worded here with the model's own template (serving/worker/prompt.py): so that nobody can
type a control token, the reply's given beginning is truly continued, and every prompt is counted before it is sent.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from serving.backend import BackendBusy, BackendUnavailable
from serving.backends.wire import Wire, parsed_event
from serving.backends.wire_errors import answered
from serving.llama.settings import Sampling
from serving.worker.prompt import Prompt
from serving.worker.protocol import Finish, Usage

LOOK_S = 10.0
"""Seconds for a question that needs no generation."""

_BETWEEN = -1  # no token has this number: it marks where one text ends and the next begins


@dataclass(frozen=True, slots=True)
class Look:
    """What a server reports of itself. context: tokens for each of its `slots` conversations. reported: every name
    that it gives its model."""

    alias: str
    build: str
    context: int
    context_trained: int
    slots: int
    template: str
    bos: str
    eos: str
    reported: tuple[str, ...]


class ServerClient:
    """One server. Every method raises BackendError."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    @property
    def who(self) -> str:
        return self._wire.who

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def healthy(self, timeout_s: float = LOOK_S) -> bool:
        """Whether it has loaded its model. BackendUnavailable when nothing answers at all."""
        try:
            await self._wire.get("/health", timeout_s=timeout_s)
        except BackendBusy:  # 503: it is loading
            return False
        return True

    async def busy(self, timeout_s: float) -> int:
        """How many of its slots are at work. Answered by its main loop, so a hung server never does."""
        slots = await self._wire.get("/slots", timeout_s=timeout_s)
        return sum(bool(slot.get("is_processing")) for slot in slots if isinstance(slot, dict))

    async def look(self) -> Look:
        """What it is."""
        props = await self._wire.get("/props", timeout_s=LOOK_S)
        listed = await self._wire.get("/v1/models", timeout_s=LOOK_S)
        try:
            return _look(props, listed["data"][0])
        except (KeyError, TypeError, ValueError, IndexError):
            raise BackendUnavailable(f"{self.who} is no llama.cpp server, or one of another version") from None

    async def tokens(self, texts: Sequence[str], *, control: bool) -> list[list[int]]:
        """The tokens of each text, in one request; names of control tokens count as such only where control is true."""
        content: list[str | int] = []
        for text in texts:
            content += [text.encode("utf-8", "replace").decode("utf-8"), _BETWEEN]
        return _parted(await self._tokenise(content, control=control, special=False), len(texts), self.who)

    async def bos(self) -> int | None:
        """The token that the model wants before everything else; None where it wants none."""
        without = await self._tokenise("x", control=False, special=False)
        beginning = await self._tokenise("x", control=False, special=True)
        return beginning[0] if beginning[:1] != without[:1] else None

    async def warm(self, prefix: Sequence[int], slot: int, *, timeout_s: float) -> int:
        """Evaluate the protocol in one slot. Returns how many of its tokens that slot held already."""
        body = {"prompt": list(prefix), "n_predict": 0, "id_slot": slot, "cache_prompt": True}
        answer = await self._wire.post("/completion", body, timeout_s=timeout_s)
        return _count(answer.get("timings"), "cache_n") if isinstance(answer, dict) else 0

    async def save(self, slot: int, name: str) -> int:
        """Have what a slot holds written into its folder for states. Returns how many tokens that are."""
        return await self._slot(slot, "save", name, "n_saved")

    async def restore(self, slot: int, name: str) -> int:
        """Have a slot hold what was saved. Returns how many tokens that are."""
        return await self._slot(slot, "restore", name, "n_restored")

    async def likeliest(self, prompt: Prompt, count: int, *, timeout_s: float) -> list[tuple[int, float]]:
        """The likeliest next tokens with their log probabilities, before any sampling."""
        body = {"prompt": prompt.tokens, "n_predict": 1, "n_probs": count, "cache_prompt": True, "temperature": 0.0}
        answer = await self._wire.post("/completion", body, timeout_s=timeout_s)
        try:
            told = answer["completion_probabilities"][0]["top_logprobs"]
            return [(int(one["id"]), float(one["logprob"])) for one in told]
        except (KeyError, TypeError, ValueError, IndexError):
            raise BackendUnavailable(f"{self.who} does not tell probabilities as llama.cpp does") from None

    async def complete(
        self, prompt: Prompt, sampling: Sampling, *, max_tokens: int, stop: Sequence[str], timeout_s: float
    ) -> AsyncGenerator[str | Usage, None]:
        """Pieces of text, then what they cost. Closing the iterator hangs up, and the server stops within a token.

        timeout_s bounds the wait for each piece.
        """
        body = {
            "prompt": prompt.tokens,
            "n_predict": max_tokens,
            "stop": list(stop),
            "stream": True,
            "cache_prompt": True,
            **sampled(sampling),
        }
        answer = await self._wire.stream("/completion", body, timeout_s=timeout_s)
        try:
            async with aclosing(self._pieces(answer, timeout_s)) as events:
                async for event in events:
                    if text := event["content"]:
                        yield text
                    if event["stop"]:
                        yield _usage(event, prompt)
        finally:
            await answer.aclose()

    async def _pieces(self, answer: Any, timeout_s: float) -> AsyncGenerator[dict[str, Any], None]:
        while (data := await answer.next(timeout_s)) is not None:
            event = parsed_event(data, self.who)
            if "error" in event or "code" in event:
                raise answered(200, event if "error" in event else {"error": event}, self.who)
            if not isinstance(event.get("content"), str) or not isinstance(event.get("stop"), bool):
                raise BackendUnavailable(f"{self.who} sent an event that cannot be read")
            yield event
            if event["stop"]:
                return
        raise BackendUnavailable(f"{self.who}'s answer broke off")

    async def _slot(self, slot: int, action: str, name: str, told: str) -> int:
        answer = await self._wire.post(f"/slots/{slot}?action={action}", {"filename": name}, timeout_s=LOOK_S)
        return _count(answer, told)

    async def _tokenise(self, content: str | Sequence[str | int], *, control: bool, special: bool) -> list[int]:
        body = {"content": content, "add_special": special, "parse_special": control}
        answer = await self._wire.post("/tokenize", body, timeout_s=LOOK_S)
        found = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(found, list) or not all(isinstance(token, int) for token in found):
            raise BackendUnavailable(f"{self.who} does not tell tokens as llama.cpp does")
        return found


def sampled(sampling: Sampling) -> dict[str, Any]:
    """The same samplers, in the same order, as the llama_cpp engine has.

    One thing differs: llama.cpp's server counts the prompt's last tokens as said too when it penalises repetition.
    """
    return {
        "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
        "temperature": max(sampling.temperature, 0.0),
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
        "repeat_last_n": sampling.repeat_last,
        "frequency_penalty": sampling.frequency_penalty,
        "seed": -1 if sampling.seed is None else sampling.seed,
    }


def _look(props: dict[str, Any], model: dict[str, Any]) -> Look:
    aliases = model.get("aliases", [])
    return Look(
        alias=str(props["model_alias"]),
        build=str(props.get("build_info", "")),
        context=int(props["default_generation_settings"]["n_ctx"]),
        context_trained=int(model["meta"]["n_ctx_train"]),
        slots=int(props["total_slots"]),
        template=str(props["chat_template"]),
        bos=str(props.get("bos_token", "")),
        eos=str(props.get("eos_token", "")),
        reported=tuple(map(str, (model["id"], *aliases, PurePath(props["model_path"]).name))),
    )


def _parted(tokens: Sequence[int], count: int, who: str) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for token in tokens:
        if token == _BETWEEN:
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) != count + 1 or parts[-1]:
        raise BackendUnavailable(f"{who} does not tell tokens as llama.cpp does")
    return parts[:-1]


def _usage(event: dict[str, Any], prompt: Prompt) -> Usage:
    timings = event.get("timings")
    finish: Finish = "length" if event.get("stop_type") == "limit" else "stop"
    return Usage(
        n_prompt=_count(event, "tokens_evaluated"),
        n_cached=_count(timings, "cache_n"),
        n_evaluated=_count(timings, "prompt_n"),
        n_generated=_count(event, "tokens_predicted"),
        n_dropped=prompt.n_dropped,
        message_cut=prompt.message_cut,
        prompt_ms=_number(timings, "prompt_ms"),
        generate_ms=_number(timings, "predicted_ms"),
        finish=finish,
    )


def _number(table: object, name: str) -> float:
    value = table.get(name) if isinstance(table, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0


def _count(table: object, name: str) -> int:
    return int(_number(table, name))
