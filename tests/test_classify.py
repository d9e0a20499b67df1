"""Which of a few labels a model would answer with: the arithmetic, every engine, and that nothing else suffers."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from llama_server_binary import BINARY, needs_server
from llama_server_binary import MODEL as FILE
from peers.openai_api import LIKELY
from peers.process import Peer

from models.catalogue import Catalogue
from serving.backend import BackendBusy, BackendError, BackendMisconfigured, BackendRefused, Classifier, Request
from serving.backends.claude import ClaudeBackend
from serving.backends.led import LedBackend
from serving.backends.ollama_chat import OllamaBackend
from serving.backends.ollama_request import OllamaSettings
from serving.backends.openai_chat import OpenAIBackend
from serving.backends.openai_request import OpenAISettings
from serving.backends.reported import Refusals
from serving.backends.static import StaticBackend
from serving.classification import Classification, by_text, classified, first_tokens, spellings
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from serving.llama_server.engine import LlamaServerEngine
from serving.llama_server.settings import Launch, LlamaServerSettings
from shield.assessment import Turn

PROTOCOL = "Be calm and kind. Listen first, and say back what you heard. Never give advice in lists. " * 6
REFUSALS = Refusals.of(Catalogue.load())
YES_NO = ("yes", "no")
GREEDY = Sampling(temperature=0.0)
NOISE = 0.1  # how a prompt is cut into batches, and what of it was cached, moves a 4-bit model's scores that much


def ask(text: str = "Is fire cold?", **more: object) -> Request:
    request = Request((Turn("user", text),), PROTOCOL + "Answer yes or no.", PROTOCOL, max_tokens=1)
    return replace(request, **more)  # type: ignore[arg-type]  # the fields of Request, by name


# the arithmetic

chances = st.dictionaries(st.sampled_from(("yes", "no", "low", "high")), st.floats(0, 0.25), min_size=1)


@given(chances)
def test_shares_sum_to_one_and_the_greatest_is_chosen(told: dict[str, float]) -> None:
    if sum(told.values()) == 0:
        with pytest.raises(BackendRefused):
            classified(told, who="engine")
        return
    found = classified(told, who="engine")
    assert math.isclose(sum(found.shares.values()), 1, abs_tol=1e-9)
    assert told[found.label] == max(told.values())
    assert found.probability == found.shares[found.label] == max(found.shares.values())
    assert math.isclose(found.mass, sum(told.values()))


@given(st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=4), min_size=1, max_size=4))
def test_a_token_counts_for_one_label_only(tokens: list[list[list[int]]]) -> None:
    groups = first_tokens(tokens)
    together = [token for group in groups for token in group]
    assert len(together) == len(set(together))
    for group, spelt in zip(groups, tokens, strict=True):
        assert set(group) <= {one[0] for one in spelt if one}


def test_a_label_is_recognised_however_it_is_spelt_and_by_its_beginning() -> None:
    likely = [(text, math.log(p)) for text, p in (("Im", 0.2), (" none", 0.1), ("NONE", 0.1), ("n", 0.2), ("x", 0.4))]
    assert by_text(("none", "imminent"), likely) == pytest.approx({"none": 0.4, "imminent": 0.2})
    assert by_text(("no", "none"), [("n", -1.0), ("no", -1.0), (" None", -1.0)]) == pytest.approx(
        {"no": 0.0, "none": math.exp(-1)}
    )
    assert {"yes", " yes", "Yes", " YES"} <= set(spellings("yes"))


@pytest.mark.parametrize("likely", [[("yes", 0.7)], [("", -1.0), ("  ", -1.0)], []])
def test_what_is_no_probability_counts_for_nothing(likely: list[tuple[str, float]]) -> None:
    assert by_text(YES_NO, likely) == {"yes": 0.0, "no": 0.0}


def test_only_engines_that_can_offer_it() -> None:
    assert isinstance(LlamaEngine(name="l", model="m", settings=LlamaSettings(FILE)), Classifier)
    claude = ClaudeBackend(name="c", model="claude-haiku-4-5", api_key="key")
    for other in (claude, LedBackend(claude), StaticBackend(words=None)):  # type: ignore[arg-type]  # not asked for any
        assert not isinstance(other, Classifier)


# servers that tell probabilities


@pytest.fixture(scope="module", params=["openai_api", "ollama_api"])
def peer(request: pytest.FixtureRequest) -> Iterator[tuple[str, Peer]]:
    running = Peer.start(request.param)
    yield request.param, running
    running.stop()


@asynccontextmanager
async def asked_of(peer: tuple[str, Peer], scenario: str) -> AsyncIterator[Any]:
    kind, running = peer
    backend: OpenAIBackend | OllamaBackend
    if kind == "openai_api":
        chosen = OpenAISettings(url=f"{running.url}/v1", served_as=f"m/{scenario}")
        backend = OpenAIBackend(name="remote", model="m", settings=chosen, refusals=REFUSALS)
    else:
        asked = OllamaSettings(url=running.url, served_as=f"m:{scenario}")
        backend = OllamaBackend(name="remote", model="m", settings=asked, refusals=REFUSALS)
    await backend.start()
    try:
        await backend.wait_ready(5)
        yield backend
    finally:
        await backend.close()


async def test_probabilities_of_a_server_are_read(peer: tuple[str, Peer]) -> None:
    async with asked_of(peer, "ok") as backend:
        found: Classification = await backend.classify(ask(), YES_NO)
    likely = {text: math.exp(logprob) for text, logprob in LIKELY}
    yes, no = likely["Yes"] + likely["yes"] + likely["y"], likely[" no"]
    assert found.label == "yes"
    assert found.probability == pytest.approx(yes / (yes + no))
    assert found.mass == pytest.approx(min(1, yes + no))


async def test_a_server_that_tells_none_is_told_of(peer: tuple[str, Peer]) -> None:
    async with asked_of(peer, "no-done" if peer[0] == "openai_api" else "cached") as backend:
        with pytest.raises(BackendMisconfigured, match="tells no probabilities"):
            await backend.classify(ask(), YES_NO)


async def test_labels_that_a_server_never_names_are_refused(peer: tuple[str, Peer]) -> None:
    async with asked_of(peer, "ok") as backend:
        with pytest.raises(BackendRefused, match="none of the labels"):
            await backend.classify(ask(), ("red", "green"))


# real inference


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[LlamaEngine]:
    made = LlamaEngine(name="local", model="smollm2", settings=LlamaSettings(FILE, context=1024, queue=1, threads=1))
    await made.warm(PROTOCOL)
    await made.start()
    await made.wait_ready(60)
    await asyncio.wait_for(made.warmed.wait(), 60)
    yield made
    await made.close()


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
async def test_the_answer_follows_from_the_question(engine: LlamaEngine) -> None:
    said = "Say the word {}. Answer with the word {} and nothing else."
    for word, other in (YES_NO, YES_NO[::-1]):
        found = await engine.classify(ask(said.format(word, word)), (word, other))
        assert found.label == word, found
        assert found.mass > 0.05
        again = await engine.classify(ask(said.format(word, word)), (word, other))
        assert again.probability == pytest.approx(found.probability, abs=NOISE), "nothing is sampled"


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
async def test_it_costs_the_protocol_nothing(engine: LlamaEngine) -> None:
    for _ in range(2):
        await engine.classify(ask(), YES_NO)
        assert engine.stats.n_generated == 0
        assert engine.stats.n_cached > 90
        assert engine.stats.n_evaluated < 40
        await anext(aiter(engine.stream(ask("I feel alone.", system=PROTOCOL + "Be brief.", max_tokens=2))))
        assert engine.stats.n_cached > 90


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
async def test_it_waits_for_its_turn_and_can_be_given_up(engine: LlamaEngine) -> None:
    async with AsyncExitStack() as stack:
        reply = engine.stream(ask("Tell me a story.", max_tokens=300))
        stack.push_async_callback(reply.aclose)  # type: ignore[attr-defined]  # an async generator
        await anext(reply)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await engine.classify(ask(), YES_NO)
        assert time.monotonic() - began < 1
        assert await anext(reply), "the reply goes on"
        waiting = asyncio.create_task(engine.classify(ask(), YES_NO))
        await asyncio.sleep(0.05)
        with pytest.raises(BackendBusy):
            await engine.classify(ask(), YES_NO)
    assert (await waiting).label in YES_NO
    assert engine.state == "ready"


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
async def test_what_does_not_fit_is_refused(engine: LlamaEngine) -> None:
    with pytest.raises(BackendError):
        await engine.classify(ask(system="much too long " * 2000, protocol_prefix=""), YES_NO)
    assert (await engine.classify(ask(), YES_NO)).label in YES_NO


@pytest.mark.engine
@pytest.mark.asyncio(loop_scope="module")
@needs_server
async def test_three_ways_to_the_same_model_agree(engine: LlamaEngine) -> None:
    """Our own reading of the scores, llama.cpp's server by its native interface, and by OpenAI's."""
    settings = LlamaServerSettings(Launch(BINARY, FILE, threads=1), context=1024, parallel=1, sampling=GREEDY)
    server = LlamaServerEngine(name="server", model="smollm2", settings=settings)
    await server.start()
    try:
        await server.wait_ready(60)
        ticket = server._site._ticket  # type: ignore[union-attr]  # a key of its own, which nobody else is told
        chosen = OpenAISettings(url=f"{ticket.url}/v1", served_as=ticket.alias, key=ticket.key, context=1024)
        remote = OpenAIBackend(name="remote", model="smollm2", settings=chosen, refusals=REFUSALS)
        await remote.start()
        await remote.wait_ready(10)
        for text in ("Is fire cold?", "Is the sky blue?", "I want to die."):
            ours = await engine.classify(ask(text), YES_NO)
            native = await server.classify(ask(text), YES_NO)
            theirs = await remote.classify(ask(text), YES_NO)
            assert native.label == ours.label
            assert native.probability == pytest.approx(ours.probability, abs=NOISE)
            assert native.mass == pytest.approx(ours.mass, abs=NOISE)
            if ours.mass > NOISE:  # it tells the 20 likeliest only
                assert theirs.label == ours.label
                assert theirs.probability == pytest.approx(ours.probability, abs=2 * NOISE)
        await remote.close()
    finally:
        await server.close()
