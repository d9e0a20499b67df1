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
SHAPED = """context_trained = 1024
quantisation = "Q4_K_M"
shape = {{ architecture = "llama", layers = 2, width = {width}{extra} }}
"""
REST = ", heads = 2, kv_heads = 1, head_size = 32, feed_forward = 128, vocabulary = 400"


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
        ("llama-guard-3-1b-q4_k_m", "unapproved"),
        ("granite-guardian-3.1-2b-q4_k_m", "unapproved"),
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
        assert card.source
        assert card.shape is not None
        assert card.quantisation
        assert card.context_trained >= 8192
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
        (entry(status="approved", more='approved_by = "me"\napproved_on = "2026-13-01"\n'), "approved by nobody"),
        (entry(status="approved", more='approved_by = " "\napproved_on = "2026-11-21"\n'), "approved by nobody"),
        (entry(status="approved", more='approved_by = "me"\n'), "approved by nobody"),
        (entry(name="my-friend", file="Mistral-7B-v0.1.Q4_0.gguf"), "which is refused"),
        (entry(name="qwen2.5-7b-instruct-q4_k_m"), "already a model"),
        (entry(status="lovely"), "status is one of"),
        (entry(more='sha256 = "abc"\n'), "64 lower-case"),
        (entry(more="colour = 1\n"), "unknown colour"),
        (entry(more='size_bytes = "big"\n'), "size_bytes has the wrong type"),
        (entry(more="gated = 1\n"), "gated has the wrong type"),
        (entry(more="size_bytes = true\n"), "size_bytes has the wrong type"),
        (entry(more='purpose = "chats"\n'), "purpose is one of chat, guard"),
        (entry(more='quantisation = "Q1"\n'), "quantisation is one of"),
        (entry(file="../other/own.gguf"), "a name, not a path"),
        (entry(more='shape = { architecture = "llama" }\n'), "a shape needs quantisation and context_trained"),
        (entry(more=SHAPED.format(width=64, extra="")), "shape lacks heads"),
        (entry(more=SHAPED.format(width=-1, extra=REST)), "width: a positive whole number"),
        (entry(more=SHAPED.format(width=64, extra=REST + ", tail = 1")), "unknown tail"),
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


@pytest.mark.parametrize("allow_unapproved", [False, True])
def test_a_guard_model_never_answers_anybody(catalogue: Catalogue, allow_unapproved: bool) -> None:
    with pytest.raises(ModelNotAllowed, match="it judges texts and never answers people"):
        require_allowed(catalogue.get("llama-guard-3-1b-q4_k_m"), allow_unapproved=allow_unapproved)


def test_an_own_model_may_have_a_shape_of_its_own(tmp_path: Path) -> None:
    card = Catalogue.load(own(tmp_path, entry(more=SHAPED.format(width=64, extra=REST)))).get("own-model")
    assert card.shape is not None
    assert (card.shape.layers, card.shape.kv_heads, card.shape.sliding) == (2, (1, 1), (False, False))


def test_an_own_catalogue_that_is_broken_costs_only_its_own_models(tmp_path: Path) -> None:
    catalogue = Catalogue.tolerant(own(tmp_path, entry(status="lovely")))
    assert catalogue.default().name == "qwen2.5-7b-instruct-q4_k_m"
    with pytest.raises(UnknownModel, match=r"your own catalogue could not be used: .*status is one of"):
        catalogue.get("own-model")
