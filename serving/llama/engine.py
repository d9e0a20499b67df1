"""LlamaEngine: a model through llama.cpp in a process of its own (serving/llama/worker.py)."""

from serving.llama.settings import LlamaSettings
from serving.worker.engine import WorkerEngine


class LlamaEngine(WorkerEngine[LlamaSettings]):
    """One GGUF file, one reply at a time."""

    worker = "serving.llama.worker"
