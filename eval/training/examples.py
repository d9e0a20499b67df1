"""What an encoder learns from, whatever the task."""

from dataclasses import dataclass

from textrules.encoder import Segments


@dataclass(frozen=True, slots=True)
class Example:
    """What is read, and for each output 1, 0, or NaN where nothing is known of it."""

    segments: Segments
    targets: tuple[float, ...]
