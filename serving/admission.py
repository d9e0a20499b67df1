"""How many replies may ask models at once, and who still may when that many do.

Nobody waits here: the answer of whoever is not let in is the static one, at once. Who waits for an engine, and how
long, is settled where the engine is (places.py).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shield.assessment import Level, rank

Admits = Callable[[Level], bool]
"""Asked once, as soon as the level of a conversation is known: may it ask a model?"""

_GRAVE = rank("high")


def everyone(_level: Level) -> bool:
    """Lets all of them in: for whoever counts nobody."""
    return True


class Admission:
    """places: replies at once. Beyond them a quarter more, for people who are in danger."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._for_the_grave = places + max(1, places // 4)
        self.running = 0

    @contextmanager
    def entered(self) -> Iterator[Admits]:
        """What to ask for one reply. Its place is free again at the end of the block."""
        taken = 0

        def admits(level: Level) -> bool:
            nonlocal taken
            if not taken and self.running < (self._for_the_grave if rank(level) >= _GRAVE else self._places):
                taken = 1
                self.running += 1
            return taken == 1

        try:
            yield admits
        finally:
            self.running -= taken
