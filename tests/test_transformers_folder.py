"""What is told of a transformers model before torch is ever imported: packages, the folder, wrong settings."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_model

from models.catalogue import Catalogue, ModelCard
from models.shape import Shape
from serving.links import make_link
from serving.settings import Settings, TransformersEntry
from serving.status import LinkStatus
from serving.transformers import folder, packages
from serving.transformers.settings import TransformersSettings

PROJECT = Path(__file__).parent.parent
CATALOGUE = Catalogue.load()
QWEN = CATALOGUE.get("qwen2.5-7b-instruct-q4_k_m")
TINY = Shape("qwen2", 64, 4, 16, 128, 256, 1024, kv_heads=(2, 2), sliding=(False, False))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A whole folder of the tiny model's form; nothing in it could be loaded."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(tiny_model.config(300)), encoding="utf-8")
    (path / "tokenizer.json").write_text("{}", encoding="utf-8")
    (path / "chat_template.jinja").write_text(tiny_model.CHATML, encoding="utf-8")
    tiny_model.save(path / "model.safetensors", {"x": np.zeros((4, 4), np.float32)})
    return path


def change(path: Path, **values: Any) -> None:
    table = json.loads((path / "config.json").read_text(encoding="utf-8"))
    (path / "config.json").write_text(json.dumps(table | values), encoding="utf-8")


# the packages


def test_the_ranges_are_those_of_the_extra() -> None:
    extra = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    said = {f"{name}>={packages._said(low)},<{packages._said(high)}" for name, (low, high) in packages.RANGES.items()}
    assert set(extra["transformers"]) == said


def having(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    monkeypatch.setattr(packages, "_version", versions.get)


ALL = {"torch": "2.13.0+cpu", "transformers": "5.23.0", "bitsandbytes": "0.50.2", "accelerate": "1.15.0"}


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ({}, "torch and transformers and bitsandbytes and accelerate are not installed"),
        ({"torch": "2.13.0", "transformers": "5.23.0", "accelerate": "1.15.0"}, "bitsandbytes is not installed"),
        (ALL | {"transformers": "4.57.6"}, "transformers 4.57.6 is installed, 5.23 or later below 6 is needed"),
        (ALL | {"torch": "3.0.0"}, "torch 3.0.0 is installed, 2.13 or later below 3 is needed"),
        (ALL | {"accelerate": "1.16.0.dev0"}, None),
        (ALL, None),
    ],
)
def test_a_missing_or_wrong_package_is_one_line_with_what_mends_it(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], says: str | None
) -> None:
    having(monkeypatch, **versions)
    problem = packages.problem("nf4")
    if says is None:
        assert problem is None
    else:
        assert problem
        assert problem.startswith(says)
        assert "pip install 'crisis-support[transformers]'" in problem
        assert "\n" not in problem


def test_weights_that_are_not_quantised_need_no_bitsandbytes(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, torch="2.13.0", transformers="5.23.0", accelerate="1.15.0")
    assert packages.problem("none") is None
    assert packages.problem("8bit")


def test_the_service_never_imports_torch() -> None:
    code = "import sys, serving.wiring, serving.transformers.engine; print([m for m in sys.modules if m == 'torch'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT, timeout=60)
    assert ran.stdout.strip() == "[]", ran.stderr


# the folder


def test_a_whole_folder_is_described(good: Path) -> None:
    found = folder.look(good)
    assert found.names == ("qwen2", "Qwen2ForCausalLM", "")
    assert (found.layers, found.width, found.heads, found.kv_heads) == (2, 64, 4, 2)
    assert found.template == tiny_model.CHATML
    assert found.size_bytes > 64
    folder.require_same(found, replace(QWEN, shape=TINY))


def sharded(path: Path) -> None:
    (path / "model.safetensors").rename(path / "model-00001-of-00002.safetensors")
    names = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}), encoding="utf-8")


def cut(path: Path) -> None:
    whole = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(whole[:-10])


def pickled(path: Path) -> None:
    (path / "model.safetensors").rename(path / "pytorch_model.bin")


def escaping(path: Path) -> None:
    names = {"a": "../elsewhere.safetensors"}
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}), encoding="utf-8")


def text(name: str, content: str) -> Callable[[Path], None]:
    return lambda path: (path / name).write_text(content, encoding="utf-8") and None


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda path: (path / "config.json").unlink(), "config.json is missing"),
    "config is no JSON": (text("config.json", "layers: 2"), "config.json is not JSON"),
    "config is a list": (text("config.json", "[]"), "is not a JSON table"),
    "not a language model": (text("config.json", "{}"), "num_hidden_layers is missing"),
    "no tokenizer": (lambda path: (path / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "no weights": (lambda path: (path / "model.safetensors").unlink(), "model.safetensors is missing"),
    "a shard is missing": (sharded, "model-00002-of-00002.safetensors is missing"),
    "a shard elsewhere": (escaping, "elsewhere.safetensors is missing"),
    "pickles": (pickled, "pickles and never loaded"),
    "cut": (cut, "belong to it; fetch it again"),
    "a web page": (text("model.safetensors", "<html>not found</html>"), "is not a safetensors file"),
    "empty": (text("model.safetensors", ""), "is not a safetensors file"),
    "own code": (lambda path: change(path, auto_map={"AutoModel": "evil.Model"}), "code of its own"),
    "GPTQ": (lambda path: change(path, quantization_config={"quant_method": "gptq"}), "quantised by gptq"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_folder_that_cannot_be_used_is_one_line(good: Path, name: str) -> None:
    spoil, says = WRONG[name]
    spoil(good)
    with pytest.raises(folder.FolderProblem) as caught:
        folder.look(good)
    assert says in str(caught.value)
    assert str(good) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_that_bitsandbytes_quantised_already_are_taken(good: Path) -> None:
    change(good, quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})
    assert folder.look(good).quantised == "bitsandbytes"


def test_the_template_is_found_wherever_it_is(good: Path) -> None:
    (good / "chat_template.jinja").unlink()
    assert folder.look(good).template == ""
    several = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": "y"}]
    for held, found in (("z", "z"), (several, "y")):
        (good / "tokenizer_config.json").write_text(json.dumps({"chat_template": held}), encoding="utf-8")
        assert folder.look(good).template == found


def test_the_settings_survive_the_way_to_the_worker() -> None:
    settings = TransformersSettings(Path("x"), load="8bit", stop=("</s>",), memory_limit_bytes=5)
    assert TransformersSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


# the chain entry


def link(monkeypatch: pytest.MonkeyPatch, card: ModelCard, path: Path | None, **more: Any) -> LinkStatus:
    having(monkeypatch, **ALL)
    entry = TransformersEntry(engine="transformers", model=card.name, path=path, **more)
    made = make_link(entry, Settings(weights_dir=Path("nowhere")), Catalogue([card, CATALOGUE.get("mistral-7b")]))
    assert (made.backend is None) == bool(made.status.reason)
    return made.status


def test_an_entry_is_made_of_a_folder_that_is_the_cards(monkeypatch: pytest.MonkeyPatch, good: Path) -> None:
    assert link(monkeypatch, replace(QWEN, shape=TINY), good).reason == ""


def test_a_folder_of_another_model_is_refused(monkeypatch: pytest.MonkeyPatch, good: Path) -> None:
    said = link(monkeypatch, QWEN, good).reason
    assert "is another model than qwen2.5-7b-instruct-q4_k_m: 2 layers of 64 values" in said


@pytest.mark.parametrize(
    "disguise",
    [
        {"model_type": "mistral"},
        {"architectures": ["MistralForCausalLM"]},
        {"_name_or_path": "mistralai/Mistral-7B-Instruct-v0.3"},
    ],
)
def test_mistral_is_refused_under_any_name(
    monkeypatch: pytest.MonkeyPatch, good: Path, disguise: dict[str, Any]
) -> None:
    change(good, **disguise)
    said = link(monkeypatch, replace(QWEN, shape=TINY), good).reason
    assert "Mistral model, which is refused" in said
    assert "never use it for crisis support" in said


def test_mistrals_template_gives_it_away(monkeypatch: pytest.MonkeyPatch, good: Path) -> None:
    (good / "chat_template.jinja").write_text("[INST] {{ messages[0]['content'] }} [/INST]", encoding="utf-8")
    assert "Mistral model" in link(monkeypatch, replace(QWEN, shape=TINY), good).reason


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nothing", "is not a folder; mend `path`"),
        ("model/model.safetensors", "is a file; transformers needs the model's folder"),
        (None, "its folder nowhere/qwen2.5-7b is not on this machine"),
    ],
)
def test_a_folder_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, good: Path, path: str | None, says: str
) -> None:
    said = link(monkeypatch, QWEN, good.parent / path if path else None).reason
    assert says in said
    assert "\n" not in said


def test_a_missing_package_is_the_entrys_reason(monkeypatch: pytest.MonkeyPatch, good: Path) -> None:
    entry = TransformersEntry(engine="transformers", model=QWEN.name, path=good)
    having(monkeypatch)
    made = make_link(entry, Settings(), CATALOGUE)
    assert made.backend is None
    assert "pip install 'crisis-support[transformers]'" in made.status.reason
