"""A small fine-tuned text encoder behind SHIELD's and the filter's learned stages: segments of text in, scores out.

The weights are int8 ONNX, run by onnxruntime on one core; torch is needed to train them (`make train`), never here.
What it reads is the *meant* reading of a text (`said`): folded, with disguises undone, as the rules read it.
"""

import json
import math
import os
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from threading import Lock
from typing import Any

from textrules.normalise import views

START, PAD, END = 0, 1, 2  # ids of <s>, <pad>, </s> in every vocabulary that `make train` writes
LAST, EARLIER, ALL = 128, 48, 160  # tokens kept of the last segment, of each earlier one, and of all together
REMEMBERED = 2048  # results kept: a conversation is asked about again at each of its turns

Segments = tuple[str, ...]


def said(text: str) -> str:
    """The reading that an encoder learns from and judges: lower case, disguises undone, one blank between words.

    Its vocabulary knows words by the blank before them: behind a line end, or two blanks, they are others.
    """
    return " ".join(views(text)[-1].text.split())


def arranged(segments: Sequence[Sequence[int]]) -> list[int]:
    """One row of token ids: the earlier segments' ends as far as they fit, then the beginning of the last one.

    At most ALL tokens, the marks between the segments included.
    """
    *earlier, last = segments
    row = [*last[:LAST], END]
    for segment in reversed(earlier):
        tail = list(segment[-EARLIER:])
        if len(row) + len(tail) + 2 > ALL:
            break
        row = [*tail, END, *row]
    return [START, *row]


@dataclass(frozen=True, slots=True)
class Trunk:
    """The words and the lower layers, which every encoder shares: they keep their source's weights, and are here once.

    `states` may be called from several threads.
    """

    session: Any  # onnxruntime.InferenceSession: the package has no types
    tokenizer: Any  # tokenizers.Tokenizer
    digest: str

    @classmethod
    def load(cls, folder: Traversable | None = None) -> "Trunk":
        """Reads trunk.onnx and tokenizer.json of `folder`, or of the package."""
        from tokenizers import Tokenizer  # heavy, and wanted only where an encoder is

        folder = folder or files("textrules") / "trunk"
        weights, words = (folder / "trunk.onnx").read_bytes(), (folder / "tokenizer.json").read_bytes()
        return cls(_session(weights), Tokenizer.from_str(words.decode("utf-8")), digest(weights + words))

    def states(self, segments: Segments) -> dict[str, Any]:
        """What the upper layers read of the segments: `ids`, (1, tokens), and `state`, (1, tokens, width)."""
        import numpy  # comes with onnxruntime

        whole = [segment.encode("utf-8", "replace").decode() for segment in segments]  # half an emoji is no text
        encoded = self.tokenizer.encode_batch(whole, add_special_tokens=False)
        ids = numpy.array([arranged([one.ids for one in encoded])], dtype=numpy.int64)
        return {"ids": ids, "state": self.session.run(None, {"ids": ids})[0]}


@cache
def shipped_trunk() -> Trunk:
    """The trunk that ships with the package, loaded once for all encoders of the process."""
    return Trunk.load()


@dataclass(frozen=True, slots=True)
class Encoder:
    """The upper layers that one task trained, over the trunk. `scores` may be called from several threads."""

    trunk: Trunk
    session: Any
    outputs: tuple[str, ...]

    @classmethod
    def load(cls, folder: Traversable, trunk: Trunk | None = None) -> "Encoder":
        """Reads encoder.onnx and model.json of `folder`. Raises ValueError when they or the trunk differ in age."""
        trunk = trunk or shipped_trunk()
        facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        weights = (folder / "encoder.onnx").read_bytes()
        if (digest(weights), trunk.digest) != (facts["encoder"], facts["trunk"]):
            raise ValueError(f"{folder}: encoder.onnx, model.json and the trunk are of different trainings; make train")
        return cls(trunk, _session(weights), tuple(facts["outputs"]))

    def scores(self, segments: Segments) -> tuple[float, ...]:
        """One score (log-odds) for each of `outputs`. The last segment is what is judged, the others are its context.

        Any Unicode; longer text is cut as `arranged` says.
        """
        found = self.session.run(None, self.trunk.states(segments))[0][0]
        return tuple(float(score) for score in found)


class Remembering:
    """The scores of an encoder, the newest kept by a digest of the text: no text is held. For any number of threads."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kept: OrderedDict[bytes, tuple[float, ...]] = OrderedDict()
        self._turn = Lock()

    def scores(self, segments: Segments) -> tuple[float, ...]:
        key = blake2b("\x1e".join(segments).encode("utf-8", "replace"), digest_size=16).digest()
        with self._turn:
            found = self._kept.get(key)
        if found is not None:
            return found
        found = self._encoder.scores(segments)
        with self._turn:
            self._kept[key] = found
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        return found


def stage(folder: Traversable, outputs: tuple[str, ...], limits: Collection[str]) -> tuple[Remembering, dict[str, Any]]:
    """A learned stage's encoder, which keeps its results, and what its model.json says: limits, calibration.

    limits: the names of those that the stage needs. Raises ValueError when the files do not belong together, lack a
    limit, or give other outputs than the stage knows.
    """
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    try:
        if tuple(facts["outputs"]) != outputs:
            raise ValueError(f"{folder}: a model with other outputs than this version's; run make train")
        if facts["limits"].keys() != set(limits) or facts["calibration"].keys() != {"slope", "offset"}:
            raise ValueError(f"{folder}: a model with other limits than this version's; run make train")
        return Remembering(Encoder.load(folder)), facts
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{folder}/model.json is not whole ({error}); run make train") from None


def probability(log_odds: float) -> float:
    """What log-odds mean, 0 to 1; never quite either."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def digest(weights: bytes) -> str:
    """How model.json names the weights that it belongs to."""
    return blake2b(weights, digest_size=16).hexdigest()


def _session(weights: bytes) -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import; without it the library reports to its makers
    import onnxruntime  # heavy, and wanted only where an encoder is

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
