"""The GPU benchmark on the CPU with a tiny shape: what it tries, what it tells, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from llama_server_binary import BINARY, needs_server

from eval.bench import gpu, gpu_engines
from models import device
from models.catalogue import Catalogue, ModelCard
from models.device import Device
from models.shape import Shape

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

CATALOGUE = Catalogue.load()
GIB = 2**30
TINY = Shape.from_table(
    {"architecture": "qwen2", "layers": 2, "width": 256, "heads": 4, "kv_heads": 2, "head_size": 64,
     "feed_forward": 512, "vocabulary": 9000},
    context_trained=4096,
)  # fmt: skip
CARD = ModelCard(
    "tiny", "Tiny", "tiny.gguf", "unapproved", "a test", "none", context_trained=4096, quantisation="Q4_K_M",
    shape=TINY, client={"first_token_s": 0.3, "full_response_s": 1.2},
)  # fmt: skip


def wish(**more: object) -> gpu.Wish:
    made = gpu.Wish(vram_bytes=8 * GIB, counts=(1, 2), tokens=8, rounds=1, gpu_layers=0, binary=None)
    return replace(made, **more)  # type: ignore[arg-type] # a test's own options


def test_our_worker_is_measured_and_nothing_stays() -> None:
    (row,) = gpu.measure(CARD, wish())
    assert "failed" not in row
    assert (row["engine"], row["context"], row["parallel"]) == ("llama_cpp", 4096, 1)
    assert 0 < row["cached_first_token_s"]["median"] < row["first_token_s"]["median"]
    assert row["full_response_s"]["median"] >= row["cached_first_token_s"]["median"]  # in milliseconds both may be 11
    assert row["tokens_per_s"]["1"]["median"] > 0
    assert row["peak_bytes"] > row["planned_bytes"] / 2
    assert row["fits"]
    assert row["client"] == {"first_token_s": 0.3, "full_response_s": 1.2}
    assert json.dumps(row)


@needs_server
def test_the_server_is_measured_with_as_many_conversations_as_fit() -> None:
    row = gpu.measure(CARD, wish(binary=BINARY))[-1]
    assert "failed" not in row, row["failed"]
    assert (row["engine"], row["parallel"]) == ("llama_server", 2)
    assert set(row["tokens_per_s"]) == {"1", "2"}
    lines = gpu.table([row]).splitlines()
    assert "/ 0.3" in lines[1]
    assert "2 x 2048 f16" in lines[1]


def test_a_trial_that_fails_is_a_row_that_says_why() -> None:
    (row,) = gpu.measure(CARD, wish(gpu_layers=-1))
    assert row["failed"] == "this build of llama-cpp-python has no GPU support"
    assert "no GPU support" in gpu.table([row])
    assert "does not know its shape" in gpu.measure(replace(CARD, shape=None), wish())[0]["failed"]


def test_the_clients_models_get_settings_that_fit_their_card() -> None:
    """Eight conversations of Gemma do not fit 8 GiB as they are: the plan's own suggestion is what is tried."""
    made = [gpu.trials(CATALOGUE.get(name), wish(binary=Path("x"), counts=(1, 2, 4, 8))) for name in gpu.MODELS]
    for worker_4k, worker_8k, server in made:
        assert (worker_4k.settings.context, worker_8k.settings.context) == (4096, 8192)
        assert server.planned_bytes < 8 * GIB
        assert max(server.counts) <= server.settings.parallel
    assert made[0][-1].counts == (1, 2, 4, 8), "Qwen at full width"


def test_without_a_card_it_says_so_and_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device, "gpus", lambda: ())
    assert gpu.main(["--models", gpu.MODELS[0]]) == 1
    assert "no GPU is seen here" in capsys.readouterr().err


def test_the_peak_of_a_card_is_what_it_took_beyond_what_others_had(monkeypatch: pytest.MonkeyPatch) -> None:
    used = [1 * GIB]
    monkeypatch.setattr(device, "gpus", lambda: (Device("a card", 8 * GIB, 8 * GIB - used[0]),))
    peak = gpu_engines.Peak(on_card=True)
    for used[0] in (3 * GIB, 6 * GIB, 2 * GIB):
        peak.look()
    assert peak.peak_bytes == 5 * GIB
