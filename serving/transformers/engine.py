"""TransformersEngine: a model through torch and transformers in a process of its own (serving/transformers/worker.py).

The service's process never imports torch.
"""

from serving.transformers.settings import TransformersSettings
from serving.worker.engine import WorkerEngine


class TransformersEngine(WorkerEngine[TransformersSettings]):
    """One model's folder, one reply at a time."""

    worker = "serving.transformers.worker"
