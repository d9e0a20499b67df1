"""What can be told of a model's folder without torch: is it whole, what does it hold, is it the model it should be.

The service looks before it starts a process; the process looks again before it loads. Only *.safetensors are taken:
other weights are pickles, which run code when they are opened. A model that brings code of its own is refused.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.catalogue import ModelCard, ModelError
from models.shape import Shape

_CONFIG, _TOKENISER = "config.json", "tokenizer.json"
_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"
_MOST_HEADER_BYTES = 100_000_000
_HEADER_LENGTH_BYTES = 8


class FolderProblem(ModelError):
    """The folder cannot be used; the message is one line: what, where, how to mend it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A whole folder. names: everything that it calls its model. template: its chat template, "" for none.
    quantised: how its weights are quantised already, "" for not."""

    path: Path
    names: tuple[str, ...]
    template: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    size_bytes: int
    quantised: str = ""


def find(card: ModelCard, *, weights_dir: Path, named: Path | None) -> Path:
    """The model's folder: the operator's own path, else the one in weights_dir that is called as its family."""
    path = named or weights_dir / card.family
    if path.is_dir():
        return path
    if path.is_file():
        raise FolderProblem(f"{path} is a file; transformers needs the model's folder ({_CONFIG}, *.safetensors)")
    if named:
        raise FolderProblem(f"{card.name}: {path} is not a folder; mend `path` in its [[chain]] entry")
    raise FolderProblem(
        f"{card.name}: its folder {path} is not on this machine; put its {_CONFIG}, {_TOKENISER} and *.safetensors "
        "there, or set `path` in its [[chain]] entry"
    )


def look(path: Path) -> Folder:
    """Reads its small files and the heads of its weights. Raises FolderProblem."""
    config = _table(path / _CONFIG)
    if config.get("auto_map"):
        raise FolderProblem(f"{path}: the model brings code of its own, which is never run here")
    if not (path / _TOKENISER).is_file():
        raise FolderProblem(f"{path}: {_TOKENISER} is missing; fetch the folder again")
    shards = list(_shards(path))
    for shard in shards:
        _check_whole(shard)
    architectures = config.get("architectures") or ()
    return Folder(
        path=path,
        names=tuple(map(str, (config.get("model_type", ""), *architectures, config.get("_name_or_path", "")))),
        template=_template(path),
        layers=_number(config, "num_hidden_layers", path),
        width=_number(config, "hidden_size", path),
        heads=_number(config, "num_attention_heads", path),
        kv_heads=config.get("num_key_value_heads") or _number(config, "num_attention_heads", path),
        size_bytes=sum(shard.stat().st_size for shard in shards),
        quantised=_quantised(config, path),
    )


def require_same(folder: Folder, card: ModelCard) -> None:
    """Raises FolderProblem where the folder holds another model than the card says."""
    shape = card.shape
    if shape is not None and _measures(folder) != _card_measures(shape):
        raise FolderProblem(
            f"{folder.path} is another model than {card.name}: {folder.layers} layers of {folder.width} values and "
            f"{folder.heads} heads, where it has {shape.layers}, {shape.width} and {shape.heads}"
        )


def _measures(folder: Folder) -> tuple[int, int, int, int]:
    return folder.layers, folder.width, folder.heads, folder.kv_heads


def _card_measures(shape: Shape) -> tuple[int, int, int, int]:
    return shape.layers, shape.width, shape.heads, shape.kv_heads[0]


def _shards(path: Path) -> Iterator[Path]:
    if (path / _INDEX).is_file():
        weight_map = _table(path / _INDEX).get("weight_map")
        names = sorted(set(weight_map.values())) if isinstance(weight_map, dict) else []
    else:
        names = [_SINGLE]
    for name in names:
        if Path(name).name != name or not (path / name).is_file():
            pickles = any(path.glob("*.bin"))
            hint = "*.bin files are pickles and never loaded" if pickles else "fetch the folder again"
            raise FolderProblem(f"{path}: {Path(name).name} is missing; {hint}")
        yield path / name


def _check_whole(shard: Path) -> None:
    """A safetensors file says at its head how long it is."""
    try:
        with shard.open("rb") as file:
            length = int.from_bytes(file.read(_HEADER_LENGTH_BYTES), "little")
            header: dict[str, Any] = json.loads(file.read(length)) if length < _MOST_HEADER_BYTES else {}
        ends = [int(tensor["data_offsets"][1]) for name, tensor in header.items() if name != "__metadata__"]
        expected = _HEADER_LENGTH_BYTES + length + max(ends)
    except OSError as exc:
        raise FolderProblem(f"{shard} cannot be read: {exc.strerror}") from exc
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise FolderProblem(f"{shard} is not a safetensors file; fetch it again") from None
    if (size := shard.stat().st_size) != expected:
        raise FolderProblem(f"{shard} has {size:,} bytes, {expected:,} belong to it; fetch it again")


def _template(path: Path) -> str:
    own = path / "chat_template.jinja"
    if own.is_file():
        return own.read_text(encoding="utf-8", errors="replace")
    if not (path / "tokenizer_config.json").is_file():
        return ""
    found = _table(path / "tokenizer_config.json").get("chat_template")
    if isinstance(found, list):  # several, each with a name
        found = next((each.get("template") for each in found if each.get("name") == "default"), "")
    return found if isinstance(found, str) else ""


def _quantised(config: dict[str, Any], path: Path) -> str:
    found = config.get("quantization_config")
    if not found:
        return ""
    method = str(found.get("quant_method", "")) if isinstance(found, dict) else ""
    if method != "bitsandbytes":
        raise FolderProblem(
            f"{path}: its weights are quantised by {method or 'an unknown method'}: take the plain ones"
        )
    return method


def _number(config: dict[str, Any], name: str, path: Path) -> int:
    value = config.get(name)
    if type(value) is not int or value < 1:
        raise FolderProblem(f"{path / _CONFIG}: {name} is missing: not the folder of a plain language model")
    return value


def _table(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise FolderProblem(f"{path.parent}: {path.name} is missing; it is no model's folder, or not whole") from exc
    except OSError as exc:
        raise FolderProblem(f"{path} cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise FolderProblem(f"{path} is not JSON; fetch it again") from exc
    if not isinstance(table, dict):
        raise FolderProblem(f"{path} is not a JSON table; fetch it again")
    return table
