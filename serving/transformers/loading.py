"""Loads a model and its tokenizer from a folder, quantised as wanted: no network, no code that a model brings."""

from dataclasses import dataclass
from typing import Any

import torch
import transformers

from serving.transformers import reasons
from serving.transformers.folder import Folder
from serving.transformers.settings import TransformersSettings
from serving.transformers.vocabulary import Vocabulary
from serving.worker.reasons import LoadFailure


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What was loaded, and on which device it is: "cpu" or "cuda"."""

    model: Any
    vocabulary: Vocabulary
    device: str

    @property
    def context_trained(self) -> int:
        return int(getattr(self.model.config, "max_position_embeddings", 0) or 2048)


def load(settings: TransformersSettings, folder: Folder) -> LoadedModel:
    """Raises LoadFailure with a fixed reason."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    device = choose_device(settings)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder.path, local_files_only=True)
        model = _model(settings, folder, device)
    except LoadFailure:
        raise
    except Exception as fault:  # noqa: BLE001 - a damaged folder makes transformers raise anything, KeyError too
        raise LoadFailure(reasons.of_load_fault(fault)) from None
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise LoadFailure(reasons.UNKNOWN_TOKENISER)
    return LoadedModel(model, Vocabulary(tokenizer, _ends(model)), device)


def choose_device(settings: TransformersSettings) -> str:
    """Raises LoadFailure where a GPU is asked for and none can be used."""
    seen = torch.cuda.is_available()
    if settings.device == "cuda" and not seen:
        raise LoadFailure(reasons.NO_GPU)
    return "cuda" if seen and settings.device != "cpu" else "cpu"


def _model(settings: TransformersSettings, folder: Folder, device: str) -> Any:
    config = transformers.AutoConfig.from_pretrained(folder.path, local_files_only=True)
    more: dict[str, Any] = {}
    if not folder.quantised and settings.load != "none":
        more["quantization_config"] = _quantisation(settings, device)
    if getattr(config, "attn_logit_softcapping", None):  # Gemma 2: the fast attention would leave it out
        more["attn_implementation"] = "eager"
    model, told = transformers.AutoModelForCausalLM.from_pretrained(
        folder.path,
        config=config,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        device_map={"": device},
        dtype=_dtype(device),
        output_loading_info=True,
        **more,
    )
    if told["missing_keys"] or told["mismatched_keys"]:  # they would be filled with random numbers
        raise LoadFailure(reasons.INCOMPLETE)
    model.eval()
    return model


def _quantisation(settings: TransformersSettings, device: str) -> transformers.BitsAndBytesConfig:
    if settings.load == "8bit":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=_dtype(device),
    )


def _dtype(device: str) -> torch.dtype:
    if device == "cpu":
        return torch.float32  # 16 bits are slower on most CPUs
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def _ends(model: Any) -> frozenset[int]:
    found = getattr(model.generation_config, "eos_token_id", None)
    return frozenset(found if isinstance(found, list) else [found] if found is not None else [])
