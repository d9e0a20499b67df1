"""The llama.cpp server that scripts/build-llama-server made, for tests; without it they are skipped and say so."""

import os
from pathlib import Path

import pytest

from models.catalogue import Catalogue
from models.weights import locate
from serving.backend import BackendMisconfigured
from serving.llama_server.binary import find_binary
from serving.settings import cache_folder

HOW = "run scripts/build-llama-server once (8 to 10 minutes)"
MODEL = locate(Catalogue.load().get("smollm2-135m-instruct-q4_1"), weights_dir=None, path=None)


def binary() -> Path | None:
    """Where it is, None where it is not, or where CI_FAST asks for a short run."""
    if os.environ.get("CI_FAST"):
        return None
    try:
        return find_binary(None, cache_folder())
    except BackendMisconfigured:
        return None


needs_server = pytest.mark.skipif(binary() is None, reason=f"no llama-server here, or CI_FAST is set: {HOW}")
BINARY = binary() or Path("llama-server")
