"""The catalogue: who may speak to people, and that nobody gets in by another name."""

from pathlib import Path

import pytest

from models.catalogue import Catalogue, CatalogueError, ModelNotAllowed, UnknownModel, require_allowed

ENTRY = """
[[model]]
name = "{name}"
title = "A model"
file = "{file}"
status = "{status}"
reason = "tried here"
licence = "MIT"
"""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.load()


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def entry(name: str = "own-model", file: str = "own.gguf", status: str = "unapproved", more: str = "") -> str:
    return ENTRY.format(name=name, file=file, status=status) + more


def test_the_default_is_qwen_and_the_backup_gemma_takes_no_system_role(catalogue: Catalogue) -> None:
    assert catalogue.default().name == "qwen2.5-7b-instruct-q4_k_m"
    assert not catalogue.get("gemma-2-9b-it-q4_k_m").system_role


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("qwen2.5-7b-instruct-q4_k_m", "approved"),
        ("gemma-2-9b-it-q4_k_m", "approved"),
        ("llama-3.1-8b-instruct-q4_k_m", "approved"),
        ("mistral-7b-instruct-q4_k_m", "refused"),
        ("smollm2-135m-instruct-q4_1", "demo"),
        ("qwen2.5-3b-instruct-q4_k_m", "unapproved"),
        ("qwen2.5-1.5b-instruct-q4_k_m", "unapproved"),
        ("qwen2.5-0.5b-instruct-q4_k_m", "unapproved"),
    ],
)
def test_each_model_has_the_status_that_the_client_gave_it(catalogue: Catalogue, name: str, status: str) -> None:
    assert catalogue.get(name).status == status


def test_every_card_says_why_it_has_its_status_and_where_it_comes_from(catalogue: Catalogue) -> None:
    for card in map(catalogue.get, catalogue.names()):
        assert card.reason
        assert card.licence
        assert card.repo or card.package
        assert card.stop
        assert bool(card.client) == (card.status in ("approved", "refused"))


def test_only_a_file_we_have_had_in_hand_has_a_hash(catalogue: Catalogue) -> None:
    assert [name for name in catalogue.names() if catalogue.get(name).sha256] == ["smollm2-135m-instruct-q4_1"]


def test_exactly_one_model_is_the_default(catalogue: Catalogue) -> None:
    assert sum(catalogue.get(name).default for name in catalogue.names()) == 1


@pytest.mark.parametrize("allow_unapproved", [False, True])
def test_mistral_is_refused_whatever_the_settings_say(catalogue: Catalogue, allow_unapproved: bool) -> None:
    with pytest.raises(ModelNotAllowed, match="never use it for crisis support"):
        require_allowed(catalogue.get("mistral-7b-instruct-q4_k_m"), allow_unapproved=allow_unapproved)


@pytest.mark.parametrize("name", ["mistral-7b", "Mistral-7B-Instruct-v0.2", "mistral_7b_openorca.Q5_K_M"])
def test_mistral_is_refused_by_any_name(catalogue: Catalogue, name: str) -> None:
    assert catalogue.get(name).status == "refused"


def test_an_approved_model_needs_no_further_word(catalogue: Catalogue) -> None:
    require_allowed(catalogue.default(), allow_unapproved=False)


@pytest.mark.parametrize("name", ["smollm2-135m-instruct-q4_1", "qwen2.5-3b-instruct-q4_k_m"])
def test_an_unapproved_model_needs_the_operators_word(catalogue: Catalogue, name: str) -> None:
    require_allowed(catalogue.get(name), allow_unapproved=True)
    with pytest.raises(ModelNotAllowed, match="allow_unapproved = true"):
        require_allowed(catalogue.get(name), allow_unapproved=False)


def test_an_unknown_name_gets_the_names_there_are_and_the_nearest(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownModel, match=r"did you mean qwen2\.5-7b-instruct-q4_k_m\? known: qwen2"):
        catalogue.get("qwen2.5-7b-instruct")


@pytest.mark.parametrize(
    ("name", "kib"),
    [("qwen2.5-7b-instruct-q4_k_m", 56), ("gemma-2-9b-it-q4_k_m", 336), ("smollm2-135m-instruct-q4_1", 22.5)],
)
def test_the_kv_cache_of_a_token_is_what_the_spec_says(catalogue: Catalogue, name: str, kib: float) -> None:
    assert catalogue.get(name).kv_bytes_per_token() == kib * 1024


def test_an_operator_adds_a_model_of_his_own(tmp_path: Path) -> None:
    catalogue = Catalogue.load(own(tmp_path, entry()))
    assert catalogue.get("own-model").file == "own.gguf"
    assert "qwen2.5-7b-instruct-q4_k_m" in catalogue.names()


def test_approval_of_an_own_model_has_a_name_and_a_date(tmp_path: Path) -> None:
    signed = 'approved_by = "Dr. Example"\napproved_on = "2026-11-21"\n'
    card = Catalogue.load(own(tmp_path, entry(status="approved", more=signed))).get("own-model")
    require_allowed(card, allow_unapproved=False)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (entry(status="approved"), "approved by nobody"),
        (entry(status="approved", more='approved_by = "me"\napproved_on = "yesterday"\n'), "approved by nobody"),
        (entry(name="my-friend", file="Mistral-7B-v0.1.Q4_0.gguf"), "which is refused"),
        (entry(name="qwen2.5-7b-instruct-q4_k_m"), "already a model"),
        (entry(status="lovely"), "status is one of"),
        (entry(more='sha256 = "abc"\n'), "64 lower-case"),
        (entry(more="colour = 1\n"), "unknown colour"),
        (entry(more='size_bytes = "big"\n'), "size_bytes has the wrong type"),
        ('[[model]]\nname = "x"\n', "lacks file, licence, reason, status, title"),
        ("[model]\nname = 1\n", r"nothing but \[\[model\]\]"),
        ("[[model]\n", "not TOML"),
    ],
)
def test_a_catalogue_that_cannot_be_used_says_why_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(CatalogueError, match=complaint) as caught:
        Catalogue.load(own(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 1


def test_a_catalogue_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="cannot be read"):
        Catalogue.load(tmp_path / "none.toml")
