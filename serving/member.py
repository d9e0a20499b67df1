"""What the chain knows of one of its backends: how long it may take, and whether it is asked at the moment."""

from dataclasses import dataclass, field

from serving.backend import Backend
from serving.circuit import Circuit


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. first_text_s: to a backend's first sentence; then the next one is asked beside it. between_s: between
    two of its texts. total_s: for all that it says in a reply, and, for the chain, for the whole reply.
    """

    first_text_s: float = 4.0
    between_s: float = 2.0
    total_s: float = 12.0


@dataclass(frozen=True, slots=True)
class Member:
    """A backend with its own deadlines and its circuit, which outlives the chain: a swap may keep the backend."""

    backend: Backend
    deadlines: Deadlines = field(default_factory=Deadlines)
    circuit: Circuit = field(default_factory=Circuit)

    @property
    def static(self) -> bool:
        """Whether it speaks our own words, which need no network and are proven: it has no deadline and no gate."""
        return self.backend.source == "static"
