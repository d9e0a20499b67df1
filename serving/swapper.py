"""Takes wishes for another chain, one at a time: what is asked for meanwhile waits, and only the newest file counts."""

import asyncio
import datetime
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from serving.service import Service
from serving.settings import Settings, SettingsError
from serving.swap import AT_START, Change, SwapFailed
from serving.swap_log import Outcome, Swap
from serving.workshop import Workshop

logger = logging.getLogger("crisis")
_LEVELS: dict[Outcome, int] = {"swapped": logging.INFO, "unchanged": logging.INFO, "rolled-back": logging.ERROR}
_SAID: dict[Outcome, str] = {
    "swapped": "the new chain answers",
    "unchanged": "nothing changed in the chain",
    "rolled-back": "failed, and what ran before goes on",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the operator wants now. digest: the SHA-256 of the file that was read, "" where there is none."""

    settings: Settings
    digest: str = ""


def _nobody() -> None:
    return None


class Swapper:
    """For one service. `read` reads the settings anew; it raises SettingsError. told: called after each step."""

    def __init__(
        self, service: Service, workshop: Workshop, read: Callable[[], Wanted], *, told: Callable[[], None] = _nobody
    ) -> None:
        self._service = service
        self._workshop = workshop
        self._read = read
        self._told = told
        self._asked = asyncio.Event()

    def request(self) -> None:
        """Read the settings again as soon as no other change is being made. Returns at once."""
        self._asked.set()

    async def run(self) -> None:
        """Make one change after another, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self._one()

    async def _one(self) -> None:
        began = time.monotonic()
        change, digest, outcome, reason = await self._attempt()
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        log = self._service.swaps
        swap = Swap(log.number + 1, outcome, reason, digest, time.monotonic() - began, at)
        log.add(swap)
        _write(swap)
        self._told()
        if change is not None:
            await change.clean_up()

    async def _attempt(self) -> tuple[Change | None, str, Outcome, str]:
        digest, change = "", None
        self._say("reading the settings")
        try:
            wanted = await asyncio.to_thread(self._read)
            digest = wanted.digest
            change = await Change.make(self._service, self._workshop, wanted.settings, self._say)
            outcome, note = await change.carry_out()
        except (SwapFailed, SettingsError) as error:
            return change, digest, "rolled-back", "; ".join(str(error).splitlines())
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the taking of wishes
            return change, digest, "rolled-back", f"the change itself broke with {type(error).__name__}"
        later = _later(change, wanted.settings)
        return change, digest, outcome, "; ".join(filter(None, (note, later)))

    def _say(self, doing: str) -> None:
        self._service.swaps.state = doing
        self._told()


def _later(change: Change, settings: Settings) -> str:
    """What the new file changes and a swap cannot."""
    names = [name for name in AT_START if getattr(change.before, name) != getattr(settings, name)]
    return f"changes of {' and '.join(names)} wait for the next start" if names else ""


def _write(swap: Swap) -> None:
    said = _SAID[swap.outcome] + (f": {swap.reason}" if swap.reason else "")
    logger.log(_LEVELS[swap.outcome], "swap %d (%.1f s): %s", swap.number, swap.seconds, said)
