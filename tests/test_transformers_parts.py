"""The inside of the transformers worker, in this process: words, sampling, cached keys and values, loading."""

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
import tiny_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.llama.settings import Sampling
from serving.transformers.folder import look
from serving.transformers.settings import TransformersSettings
from serving.worker.cores import Threads
from serving.worker.reasons import LoadFailure
from serving.worker.runtime import Aborted, EngineFault

pytestmark = [
    tiny_model.needs_transformers,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # of torch and transformers
]

GREEDY = Sampling(temperature=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Any:
    from serving.transformers import loading

    return loading.load(TransformersSettings(folder, load="none", device="cpu"), look(folder))


def runtime_of(loaded: Any, sampling: Sampling = GREEDY, batch: int = 16) -> Any:
    from serving.transformers.runtime import Runtime

    return Runtime(loaded.model, loaded.vocabulary, sampling, context=512, batch=batch, threads=Threads(1, 1))


@pytest.fixture
def runtime(loaded: Any) -> Any:
    return runtime_of(loaded)


def reply(runtime: Any, prompt: list[int], count: int = 12) -> list[int]:
    """Greedy tokens after a prompt, with whatever is cached already."""
    cached = runtime.begin(prompt, room=count)
    runtime.evaluate(prompt[cached:])
    said = []
    with runtime.sampler([]) as sampler:
        for _ in range(count):
            said.append(sampler.next())
            runtime.evaluate(said[-1:])
    return said


# words


@given(st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
def test_the_bytes_of_the_tokens_are_the_text(loaded: Any, text: str) -> None:
    """Qwen's tokenizer composes characters first."""
    tokens = loaded.vocabulary.tokenise(text, False)
    assert b"".join(map(loaded.vocabulary.piece, tokens)) == normalize("NFC", text).encode()


@pytest.mark.parametrize("text", ["<|im_end|>", "a<|im_start|>system\nb", "<|endoftext|>" * 3, "\ud83d<|im_end|>"])
def test_nobody_can_type_a_control_token(loaded: Any, text: str) -> None:
    typed = loaded.vocabulary.tokenise(text, False)
    assert not any(map(loaded.vocabulary.ends, typed))
    assert b"<|" in b"".join(map(loaded.vocabulary.piece, typed))
    written = loaded.vocabulary.tokenise(text, True)
    assert any(map(loaded.vocabulary.ends, written))
    assert len(written) < len(typed)


def test_control_tokens_end_a_reply_and_have_no_bytes(loaded: Any) -> None:
    for token, name in enumerate(tiny_model.SPECIAL):
        assert loaded.vocabulary.tokenise(name, True) == [token]
        assert loaded.vocabulary.ends(token)
        assert loaded.vocabulary.piece(token) == b""
    assert loaded.vocabulary.piece(10_000) == b""
    assert loaded.vocabulary.bos is None


def sentence_piece() -> Any:
    """A vocabulary of Gemma's kind: words with a mark for the space, single bytes for what it does not know."""
    from tokenizers import Tokenizer, decoders, models, normalizers
    from transformers import PreTrainedTokenizerFast

    words = [
        "<bos>",
        "<eos>",
        "<unk>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "\u2581",
        "h",
        "i",
        "hi",
        "\u2581hi",
    ]
    model = models.BPE(
        {word: at for at, word in enumerate(words)},
        [("h", "i"), ("\u2581", "hi")],
        byte_fallback=True,
        unk_token="<unk>",
    )
    made = Tokenizer(model)
    made.normalizer = normalizers.Replace(" ", "\u2581")
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<bos>", eos_token="<eos>")


def test_a_vocabulary_with_bytes_for_the_unknown() -> None:
    from serving.transformers.vocabulary import Vocabulary

    words = Vocabulary(sentence_piece(), frozenset({7}))
    for text in ("hi hi", " hi", "hi é🙂", "a\nb"):
        assert b"".join(map(words.piece, words.tokenise(text, False))) == text.encode()
    assert words.piece(words.tokenise(" hi", False)[0]) == b" hi"
    assert (words.ends(1), words.ends(7), words.ends(300)) == (True, True, False)


def test_a_vocabulary_of_another_kind_is_refused(loaded: Any) -> None:
    from tokenizers import decoders

    from serving.transformers.vocabulary import Vocabulary

    tokenizer = sentence_piece()
    tokenizer.backend_tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(LoadFailure, match="of a kind that this engine does not know"):
        Vocabulary(tokenizer)


def test_the_token_that_begins_every_text_is_found() -> None:
    from tokenizers import processors

    from serving.transformers.vocabulary import Vocabulary

    tokenizer = sentence_piece()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", 0)]
    )
    words = Vocabulary(tokenizer)
    assert words.bos == 0
    assert words.tokenise("hi", False) == words.tokenise("hi", True)
    assert 0 not in words.tokenise("<bos>hi", False)


# sampling


def draw(sampling: Sampling, scores: list[float], said: tuple[int, ...] = (), times: int = 300) -> set[int]:
    import torch

    from serving.transformers.sampling import Sampler

    made = Sampler(replace(sampling, repeat_last=4), said, lambda: torch.tensor(scores))
    return {Sampler.next(made) for _ in range(times)}


SCORES = [3.0, 2.0, 1.0, -1.0]
FREE = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


@pytest.mark.parametrize(
    ("change", "possible"),
    [
        ({}, {0, 1, 2, 3}),
        ({"top_k": 2}, {0, 1}),
        ({"top_k": 99}, {0, 1, 2, 3}),
        ({"top_p": 0.6}, {0}),
        ({"top_p": 0.7}, {0, 1}),  # shares: 0.66, 0.24, 0.09, 0.01
        ({"top_p": 0.0}, {0}),
        ({"min_p": 0.3}, {0, 1}),
        ({"min_p": 0.1}, {0, 1, 2}),
        ({"temperature": 0.0}, {0}),
        ({"temperature": 0.01}, {0}),
    ],
)
def test_what_can_be_drawn(change: dict[str, float], possible: set[int]) -> None:
    assert draw(replace(FREE, seed=1, **change), SCORES) == possible  # type: ignore[arg-type] # fields by name


def test_what_was_said_is_less_likely_by_how_often_it_was_said() -> None:
    greedy = replace(FREE, temperature=0.0)
    assert draw(replace(greedy, repeat_penalty=2.0), SCORES, (0,), 1) == {1}
    assert draw(replace(greedy, repeat_penalty=1.4), SCORES, (0,), 1) == {0}
    assert draw(replace(greedy, frequency_penalty=0.6), SCORES, (0, 0), 1) == {1}
    assert draw(replace(greedy, frequency_penalty=0.6), SCORES, (0,), 1) == {0}
    assert draw(replace(greedy, repeat_penalty=2.0), [-1.0, -1.5], (0,), 1) == {1}, "a negative score sinks too"
    assert draw(replace(greedy, repeat_penalty=2.0), SCORES, (0, 3, 3, 3, 3), 1) == {0}, "only the last ones count"


def test_the_same_seed_draws_the_same(loaded: Any) -> None:
    prompt = loaded.vocabulary.tokenise("I feel alone", False)
    one, other = (reply(runtime_of(loaded, Sampling(temperature=2.0, top_k=0, seed=7)), prompt) for _ in range(2))
    third = reply(runtime_of(loaded, Sampling(temperature=2.0, top_k=0, seed=8)), prompt)
    assert one == other != third


# what is cached


def test_whatever_is_cached_the_reply_is_the_same(loaded: Any, runtime: Any) -> None:
    protocol = loaded.vocabulary.tokenise("Be calm and kind. " * 8, False)
    prompts = [[*protocol, *loaded.vocabulary.tokenise(text, False)] for text in ("I am sad", "I am", "It sounds like")]
    fresh = [reply(runtime_of(loaded, batch=1000), prompt) for prompt in prompts]
    assert len({tuple(one) for one in fresh}) == 3
    for order in ((0, 1, 2), (2, 2, 0), (1, 0, 1)):
        for at in order:
            assert reply(runtime, prompts[at]) == fresh[at]
            runtime.keep(len(protocol))
            assert runtime.keeps(protocol)
    runtime.begin(loaded.vocabulary.tokenise("Something else altogether", False), room=5)
    assert runtime.begin(prompts[0], room=5) == len(protocol), "no request pushes the protocol out"


def test_at_least_one_token_is_left_to_evaluate(loaded: Any, runtime: Any) -> None:
    prompt = loaded.vocabulary.tokenise("I hear you.", False)
    first = reply(runtime, prompt)
    assert runtime.begin(prompt, room=5) == len(prompt) - 1
    assert reply(runtime, prompt) == first


def test_an_evaluation_that_is_stopped_leaves_what_was_done_before(loaded: Any, runtime: Any) -> None:
    prompt = loaded.vocabulary.tokenise("Be calm and kind. " * 10, False)
    expected = reply(runtime_of(loaded), prompt)
    runtime.begin(prompt, room=5)
    with pytest.raises(Aborted):
        runtime.evaluate(prompt, runtime.abort)  # called off after the first batch
    assert runtime.evaluated() == 16
    with pytest.raises(Aborted):
        runtime.evaluate(prompt[16:])
    runtime.proceed()
    assert runtime.begin(prompt, room=5) == 16
    assert reply(runtime, prompt) == expected


def test_it_is_stopped_between_two_layers(loaded: Any) -> None:
    runtime = runtime_of(loaded, batch=512)
    prompt = loaded.vocabulary.tokenise("x", False) * 500
    layers = loaded.model.model.layers
    seen: list[int] = []
    hooks = [layer.register_forward_hook(lambda *_, at=at: seen.append(at)) for at, layer in enumerate(layers)]
    hooks.append(layers[0].register_forward_hook(lambda *_: runtime.abort()))
    try:
        with pytest.raises(Aborted):
            runtime.evaluate(prompt)
    finally:
        for hook in hooks:
            hook.remove()
        runtime.proceed()  # its hooks stay in the model that these tests share
    assert seen == [0]
    assert runtime.evaluated() == 0


def test_abort_reaches_it_from_another_thread(loaded: Any) -> None:
    runtime = runtime_of(loaded, batch=8)
    threading.Timer(0.05, runtime.abort).start()
    began = time.monotonic()
    with pytest.raises(Aborted):
        reply(runtime, [5, 6, 7], 100_000)
    runtime.proceed()
    assert time.monotonic() - began < 20


def test_after_a_fault_it_begins_anew(loaded: Any, runtime: Any) -> None:
    prompt = loaded.vocabulary.tokenise("I hear you.", False)
    expected = reply(runtime, prompt)
    runtime.keep(5)
    with pytest.raises((EngineFault, IndexError)):
        runtime.evaluate([10**6])  # no such token
    runtime.forget()
    assert runtime.evaluated() == 0
    assert not runtime.keeps(prompt[:5])
    assert reply(runtime, prompt) == expected


def gemma(window: int) -> Any:
    """A tiny model of Gemma 2's kind: every other layer sees only a window."""
    import torch
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(3)
    config = Gemma2Config(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, sliding_window=window, max_position_embeddings=512, initializer_range=0.3,
        attn_implementation="eager",
    )  # fmt: skip
    return Gemma2ForCausalLM(config).eval()


@pytest.mark.parametrize("window", [8, 24, 64, 256])
def test_layers_that_see_only_a_window_are_continued_rightly(loaded: Any, window: int) -> None:
    model = replace(loaded, model=gemma(window))
    protocol = [3 + n % 250 for n in range(20)]
    prompts = [[*protocol, *(50 + (n * k) % 200 for n in range(30))] for k in (3, 5, 7)]
    fresh = [reply(runtime_of(model, batch=1000), prompt) for prompt in prompts]
    shared = runtime_of(model)
    shared.begin([*protocol, 0], room=0)
    shared.evaluate(protocol)
    shared.keep(len(protocol))
    for at in (0, 1, 0, 2, 2, 1):
        assert reply(shared, prompts[at]) == fresh[at]
        assert shared.keeps(protocol)


def test_a_model_with_a_running_state_is_refused(loaded: Any) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    model = MambaForCausalLM(MambaConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, state_size=4))
    with pytest.raises(LoadFailure, match="a kind of state"):
        runtime_of(replace(loaded, model=model))


# loading


def kinds(loaded: Any) -> set[str]:
    return {type(module).__name__ for module in loaded.model.modules()}


@pytest.mark.parametrize(("load", "kind", "most"), [("nf4", "Linear4bit", 0.55), ("8bit", "Linear8bitLt", 0.65)])
def test_weights_are_really_quantised_and_say_much_the_same(
    loaded: Any, folder: Path, load: Any, kind: str, most: float
) -> None:
    import torch

    from serving.transformers import loading

    smaller = loading.load(TransformersSettings(folder, load=load, device="cpu"), look(folder))
    assert kind in kinds(smaller)
    assert kind not in kinds(loaded)
    assert smaller.model.get_memory_footprint() < most * loaded.model.get_memory_footprint()
    prompt = loaded.vocabulary.tokenise("I hear you. Are you safe right now?", False)
    scores = []
    for each in (loaded, smaller):
        runtime = runtime_of(each)
        runtime.evaluate(prompt)
        scores.append(runtime._scores)
    assert torch.cosine_similarity(*scores, dim=0) > 0.8
    assert torch.cosine_similarity(*scores, dim=0) < 0.99999


def spoiled(folder: Path, to: Path, how: str) -> Path:
    tiny_model.make(to)
    if how == "a weight is missing":
        weights = tiny_model._weights(tiny_model.tokenizer().get_vocab_size(), 1)
        del weights["model.layers.1.mlp.up_proj.weight"]
        tiny_model.save(to / "model.safetensors", weights)
    elif how == "a weight of another size":
        weights = tiny_model._weights(tiny_model.tokenizer().get_vocab_size(), 1)
        weights["lm_head.weight"] = np.zeros((7, 7), np.float32)
        tiny_model.save(to / "model.safetensors", weights)
    elif how == "an architecture of tomorrow":
        config = json.loads((to / "config.json").read_text(encoding="utf-8"))
        (to / "config.json").write_text(json.dumps(config | {"model_type": "qwen99"}), encoding="utf-8")
    elif how == "a broken tokenizer":
        (to / "tokenizer.json").write_text('{"model": 5}', encoding="utf-8")
    return to


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("a weight is missing", "folder is incomplete"),
        ("a weight of another size", "transformers could not load|folder is incomplete"),
        ("an architecture of tomorrow", "does not know the model's architecture"),
        ("a broken tokenizer", "transformers could not load the model"),
    ],
)
def test_what_cannot_be_loaded_is_a_fixed_reason(folder: Path, tmp_path: Path, how: str, says: str) -> None:
    from serving.transformers import loading

    path = spoiled(folder, tmp_path / "spoiled", how)
    with pytest.raises(LoadFailure, match=says):
        loading.load(TransformersSettings(path, load="none", device="cpu"), look(path))


def test_a_gpu_that_is_not_there_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from serving.transformers import loading

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(LoadFailure, match="torch sees no GPU"):
        loading.choose_device(TransformersSettings(folder, device="cuda"))
    assert loading.choose_device(TransformersSettings(folder, device="auto")) == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert loading.choose_device(TransformersSettings(folder, device="auto")) == "cuda"
    assert loading.choose_device(TransformersSettings(folder, device="cpu")) == "cpu"


FAULTS = [
    (MemoryError(), "not enough memory"),
    (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "not enough memory"),
    (RuntimeError("CUDA out of memory. Tried to allocate"), "not enough memory"),
    (RuntimeError("something of a person"), "could not load the model"),
]


@pytest.mark.parametrize(("fault", "says"), FAULTS)
def test_a_fault_is_told_in_fixed_words(fault: BaseException, says: str) -> None:
    from serving.transformers import reasons

    assert says in reasons.of_load_fault(fault)
    assert "person" not in reasons.of_load_fault(fault)
