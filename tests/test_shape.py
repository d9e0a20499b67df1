"""Shapes and headers: sizes of published files follow from them, and no file can make the reader fall over."""

import contextlib
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import header, replica
from models.catalogue import Catalogue
from models.shape import BLOCKS, Shape, Tensor, TensorType, tensor_bytes, tensors, weights
from models.weights import WeightsDamaged, WeightsMissing, locate

CATALOGUE = Catalogue.load()
CARDS = [CATALOGUE.get(name) for name in CATALOGUE.names()]
SMOLLM = locate(CATALOGUE.get("smollm2-135m-instruct-q4_1"), weights_dir=None, path=None)
SMALL = {
    "layers": 4,
    "width": 256,
    "heads": 4,
    "kv_heads": 2,
    "head_size": 64,
    "feed_forward": 512,
    "vocabulary": 600,
}


def shape(architecture: str, **more: int | bool) -> Shape:
    return Shape.from_table({"architecture": architecture, **SMALL, **more}, context_trained=2048)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_published_file_weighs_what_its_shape_says_plus_its_vocabulary(card: object) -> None:
    """The rest, 0.7 to 8 MB, are the words of the tokeniser; Mungert's granite has other types in a few tensors."""
    assert card.shape is not None
    rest = card.size_bytes - weights(card.shape, card.quantisation).total
    assert 0 < rest < 8_000_000 or (card.name.startswith("granite") and abs(rest) < 14_000_000)


def test_the_cache_of_a_token_is_what_the_spec_says() -> None:
    def kib(name: str) -> float:
        known = CATALOGUE.get(name).shape
        assert known is not None
        return 2 * 2 * sum(known.kv_heads) * known.head_size / 1024

    assert kib("qwen2.5-7b-instruct-q4_k_m") == 56
    assert kib("gemma-2-9b-it-q4_k_m") == 336


def test_of_gemmas_layers_every_other_one_slides() -> None:
    gemma = CATALOGUE.get("gemma-2-9b-it-q4_k_m").shape
    assert gemma is not None
    assert gemma.sliding[:4] == (True, False, True, False)
    assert (sum(gemma.sliding), gemma.window) == (21, 4096)


def test_the_demo_models_file_says_what_the_catalogue_says() -> None:
    card, read = CATALOGUE.get("smollm2-135m-instruct-q4_1"), header.read(SMOLLM)
    assert read.shape == card.shape
    assert read.weights.total == weights(read.shape, "Q4_1").total == 96_576_768
    assert len(read.weights.layers) == 30


@pytest.mark.parametrize(
    "made",
    [shape("llama"), shape("qwen2", tied=True), shape("gemma2", window=128, tied=True), shape("granite"),
     shape("gemma3", window=64, tied=True, layers=7)],
    ids=lambda made: made.architecture,
)  # fmt: skip
def test_a_replica_reads_back_as_the_shape_it_was_made_of(made: Shape, tmp_path: Path) -> None:
    path = tmp_path / "replica.gguf"
    size = replica.write(path, made, "Q4_K_M")
    read = header.read(path)
    assert read.shape == made
    assert read.weights == weights(made, "Q4_K_M")
    assert size == path.stat().st_size
    sparse = tmp_path / "sparse.gguf"
    assert replica.write(sparse, made, "Q4_K_M", sparse=True) == size
    assert header.read(sparse).shape == made


@pytest.mark.parametrize("kind", [kind for kind in BLOCKS if kind not in ("F32", "F16")])
def test_the_made_up_blocks_are_valid_and_spread_like_real_ones(kind: TensorType) -> None:
    """Too large values overflow on the way through the layers, and a NaN slows down no engine but shows nothing."""
    data = replica._values(Tensor("x", (1,), kind), 2048, 0.02, np.random.default_rng(5))
    values = gguf.quants.dequantize(np.frombuffer(data, np.uint8).reshape(2048, -1), gguf.GGMLQuantizationType[kind])
    assert np.isfinite(values).all()
    assert values.std() == pytest.approx(0.02, rel=0.05)


def test_sizes_agree_with_the_gguf_package() -> None:
    for kind, (per_block, size) in BLOCKS.items():
        assert gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]] == (per_block, size)
    assert tensor_bytes((256, 10), "Q4_K") == 1440


def test_rows_that_no_big_block_divides_get_smaller_ones() -> None:
    """llama.cpp's quantiser does the same for Qwen2.5-0.5B, whose rows have 896 values."""
    kinds = {tensor.name: tensor.type for tensor in tensors(shape("qwen2", width=224, head_size=56), "Q4_K_M")}
    assert kinds["blk.0.attn_q.weight"] == "Q5_0"
    assert kinds["output.weight"] == "Q8_0"


def test_without_the_gguf_package_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(header.HeaderUnread, match=r"pip install 'crisis-support\[weights\]'"):
        header.read(SMOLLM)


# hostile files


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "good.gguf"
    replica.write(path, shape("llama", layers=1), "Q4_K_M")
    return path.read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 60_000))
def test_a_file_cut_off_anywhere_is_damaged_and_nothing_worse(good: bytes, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(good[: cut % len(good)])
    with pytest.raises(WeightsDamaged):
        header.read(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(4, 20_000), value=st.binary(min_size=1, max_size=8))
def test_bytes_changed_in_the_header_are_read_or_refused(good: bytes, tmp_path: Path, at: int, value: bytes) -> None:
    path, data = tmp_path / "changed.gguf", bytearray(good)
    data[at : at + len(value)] = value
    path.write_bytes(data)
    with contextlib.suppress(WeightsDamaged, header.HeaderUnread):  # anything else fails the test
        assert header.read(path).shape.layers > 0


@pytest.mark.parametrize("data", [b"", b"GG", b"GGUF", b"PK\x03\x04" * 50, b"GGUF\x03\x00\x00\x00" + b"\xff" * 40])
def test_what_is_no_gguf_file_is_said_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(data)
    with pytest.raises(WeightsDamaged, match="not a whole GGUF file"):
        header.read(tmp_path / "x.gguf")
    with pytest.raises(WeightsMissing):
        header.read(tmp_path / "none.gguf")


def test_a_gguf_file_that_is_no_language_model_is_said(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", "whisper")
    writer.add_uint32("whisper.block_count", 3)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(header.HeaderUnread, match="not of a language model"):
        header.read(tmp_path / "other.gguf")
