"""Memory: what the plan reckons is what llama.cpp itself reckons, and what it really takes."""

from pathlib import Path

import pytest

from models import compare, header, measure, replica
from models.catalogue import Catalogue
from models.memory import Run, layer_kv, memory, padded
from models.shape import Shape, weights
from models.weights import locate

pytestmark = pytest.mark.engine

CATALOGUE = Catalogue.load()
SMOLLM = locate(CATALOGUE.get("smollm2-135m-instruct-q4_1"), weights_dir=None, path=None)
WITHIN = 0.05
GIB = 2**30


def known(name: str) -> Shape:
    shape = CATALOGUE.get(name).shape
    assert shape is not None
    return shape


@pytest.mark.parametrize("name", ["qwen2.5-7b-instruct-q4_k_m", "gemma-2-9b-it-q4_k_m"])
def test_both_client_models_take_what_the_engine_reckons_in_every_setting(name: str) -> None:
    compared = list(compare.of_catalogue([name]))
    assert len(compared) == 30
    assert {one.run.kv for one in compared} == {"f16", "q8_0"}
    assert max(abs(one.off) for one in compared) < 0.01
    assert all(one.planned_kv == pytest.approx(one.reported_kv, rel=0.001) for one in compared)
    assert all(one.planned_compute == pytest.approx(one.reported_compute, rel=0.1) for one in compared)


def test_the_file_on_this_machine_takes_what_the_engine_reckons() -> None:
    read = header.read(SMOLLM)
    wanted = compare.runs(read.shape.context_trained)
    compared = list(compare.of_file("demo", SMOLLM, read.shape, read.weights, wanted))
    assert max(abs(one.off) for one in compared) < WITHIN


SHAPES = {
    "qwen2": {"layers": 3, "width": 512, "heads": 8, "kv_heads": 2, "head_size": 64, "feed_forward": 1536},
    "gemma2": {"layers": 4, "width": 512, "heads": 4, "kv_heads": 2, "head_size": 128, "feed_forward": 2048,
               "tied": True, "window": 512},
    "llama": {"layers": 3, "width": 768, "heads": 12, "kv_heads": 4, "head_size": 64, "feed_forward": 2048},
}  # fmt: skip


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("run", [Run.in_process(2048), Run.server(1024, 2, kv="q8_0")], ids=["worker", "server"])
def test_a_small_model_really_takes_what_was_planned(architecture: str, run: Run, tmp_path: Path) -> None:
    """Allocated and used, not only reckoned: the engine reads a prompt and writes."""
    table = {"architecture": architecture, "vocabulary": 32_000, **SHAPES[architecture]}
    shape = Shape.from_table(table, context_trained=4096)
    measured = measure.of_shape(shape, "Q4_K_M", run, tmp_path, measure.Machine(gpu_layers=0))
    planned = memory(shape, weights(shape, "Q4_K_M"), run)
    report = measured.reported
    assert planned.total == pytest.approx(report.total, rel=WITHIN)
    assert planned.weights == pytest.approx(report.weights, rel=0.001)
    assert planned.kv == pytest.approx(report.kv, abs=2**15), "llama.cpp rounds each cache to 0.01 MiB"
    assert measured.tokens_per_s > 0
    assert measured.first_token_ms > 0
    assert report.kv + report.compute < measured.anonymous_bytes < 3 * report.total + 2**28
    assert list(tmp_path.iterdir()) == [], "the replica is gone"


def test_a_broken_trial_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF nothing of the kind")
    with pytest.raises(measure.TrialFailed, match="the engine would not run it") as failed:
        measure.of_file(tmp_path / "x.gguf", Run.in_process(512), measure.Machine())
    assert "\n" not in str(failed.value)


def test_an_impossible_setting_is_said_by_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "s.gguf"
    table = {"architecture": "llama", "vocabulary": 1000, **SHAPES["llama"]}
    replica.write(path, Shape.from_table(table, context_trained=2048), "Q4_K_M", sparse=True)
    with pytest.raises(measure.TrialFailed):
        measure.simulated(path, [Run(2048, kv="q4_0", flash=False)])


# the rules by themselves


def test_contexts_are_rounded_up_as_llama_cpp_does() -> None:
    assert [padded(tokens) for tokens in (1, 256, 257, 4096)] == [256, 256, 512, 4096]


def test_sliding_layers_need_no_more_than_their_window() -> None:
    gemma, server = known("gemma-2-9b-it-q4_k_m"), Run.server(8192, 1)
    assert server.sliding_cells(4096) == 4608
    assert layer_kv(gemma, server, 0) == 4608 * 8 * 256 * 2 * 2
    assert layer_kv(gemma, server, 1) == 8192 * 8 * 256 * 2 * 2
    assert Run.server(4096, 1).sliding_cells(4096) == 4096
    assert Run.in_process(8192).sliding_cells(4096) == 8192


@pytest.mark.parametrize(("kv", "part"), [("q8_0", 34 / 64), ("q4_0", 18 / 64), ("f32", 2.0)])
def test_the_kind_of_cache_decides_its_size(kv: str, part: float) -> None:
    qwen = known("qwen2.5-7b-instruct-q4_k_m")
    parts = weights(qwen, "Q4_K_M")
    fine = memory(qwen, parts, Run.server(8192, 1)).kv
    assert memory(qwen, parts, Run.server(8192, 1, kv=kv)).kv == pytest.approx(fine * part)  # type: ignore[arg-type] # names
