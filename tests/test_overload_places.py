"""Who waits for a model, who goes first, and who is told at once that there is no place: the queue of an engine."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.backend import BackendBusy
from serving.places import HEAD_START_S, Places
from shield.assessment import LEVELS, Level


async def turns() -> None:
    """Let everybody come as far as they can."""
    for _ in range(4):
        await asyncio.sleep(0)


class Crowd:
    """People at one place that is taken until `let_go`; `went` says who had it, in which order."""

    def __init__(self, queue: int) -> None:
        self.places = Places(1, queue=queue, who="local")
        self.went: list[str] = []
        self.gone = asyncio.Event()
        self.tasks: list[asyncio.Task[str]] = []

    async def occupied(self) -> "Crowd":
        self.holder = asyncio.create_task(self._hold())
        await turns()
        return self

    async def _hold(self) -> None:
        async with self.places.taken("none"):
            await self.gone.wait()

    async def comes(self, level: Level, *, patience_s: float | None = None) -> asyncio.Task[str]:
        self.tasks.append(asyncio.create_task(self._ask(level, patience_s)))
        await turns()
        return self.tasks[-1]

    async def _ask(self, level: Level, patience_s: float | None) -> str:
        try:
            async with self.places.taken(level, patience_s=patience_s):
                self.went.append(level)
                return "written"
        except BackendBusy:
            return "busy"

    async def let_go(self) -> list[str]:
        self.gone.set()
        await self.holder
        return await asyncio.gather(*self.tasks)


async def test_an_act_under_way_goes_first_then_the_graver_then_who_came_first():
    crowd = await Crowd(queue=8).occupied()
    came: tuple[Level, ...] = ("none", "low", "high", "none", "imminent", "moderate", "high")
    for level in came:
        await crowd.comes(level)
    await crowd.let_go()
    assert crowd.went == ["imminent", "high", "high", "moderate", "low", "none", "none"]


async def test_who_waited_long_goes_before_a_graver_one_who_just_came_and_never_before_an_act_under_way():
    loop = asyncio.get_running_loop()
    clock = loop.time
    crowd = await Crowd(queue=8).occupied()
    await crowd.comes("none")
    later_s = HEAD_START_S["high"] + 0.5
    loop.time = lambda: clock() + later_s  # type: ignore[method-assign]  # an hour need not be waited for
    try:
        await crowd.comes("high")
        await crowd.comes("imminent")
    finally:
        loop.time = clock  # type: ignore[method-assign]
    await crowd.let_go()
    assert crowd.went == ["imminent", "none", "high"]


async def test_a_full_queue_sends_the_least_urgent_on_at_once_and_keeps_the_most_urgent():
    crowd = await Crowd(queue=2).occupied()
    first = await crowd.comes("none")
    second = await crowd.comes("low")
    third = await crowd.comes("none")
    assert await asyncio.wait_for(third, 10) == "busy"
    graver = await crowd.comes("imminent")
    assert await asyncio.wait_for(first, 10) == "busy"
    assert (second.done(), graver.done(), crowd.places.waiting) == (False, False, 2)
    await crowd.let_go()
    assert crowd.went == ["imminent", "low"]


async def test_nobody_waits_longer_than_it_can_help():
    crowd = await Crowd(queue=2).occupied()
    waiter = await crowd.comes("high", patience_s=0.05)
    assert await asyncio.wait_for(waiter, 10) == "busy"
    assert crowd.places.waiting == 0
    await crowd.let_go()


async def test_who_is_sure_to_wait_in_vain_is_told_at_once():
    """The first reply took 0.3 s: the third in a row cannot have a place within 0.4 s, the most urgent can."""
    crowd = Crowd(queue=8)
    async with crowd.places.taken("none"):
        await asyncio.sleep(0.3)
    await crowd.occupied()
    waiting = [await crowd.comes("low", patience_s=0.4) for _ in range(3)]
    assert [task.done() for task in waiting] == [False, True, True]
    assert not (await crowd.comes("imminent", patience_s=0.4)).done()
    assert (await crowd.let_go())[:1] == ["written"]


async def test_who_leaves_in_the_moment_in_which_it_is_their_turn_loses_no_place():
    crowd = await Crowd(queue=4).occupied()
    leaver = await crowd.comes("high")
    other = await crowd.comes("none")
    crowd.gone.set()
    await asyncio.sleep(0)  # the holder has given its place to the leaver, who has not seen it yet
    assert (crowd.holder.done(), leaver.done(), crowd.places.waiting) == (True, False, 1)
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    assert await asyncio.wait_for(other, 10) == "written"
    assert await asyncio.wait_for(await crowd.comes("none"), 10) == "written"


LIVES = st.lists(
    st.tuples(st.sampled_from(LEVELS), st.sampled_from(["stays", "leaves", "breaks"]), st.integers(0, 3)), max_size=30
)


@settings(max_examples=60)
@given(places=st.integers(1, 3), queue=st.integers(0, 4), lives=LIVES)
def test_whoever_comes_leaves_or_breaks_every_place_is_free_in_the_end(places, queue, lives):
    asyncio.run(_crowded(places, queue, lives))


async def _crowded(places: int, queue: int, lives: list[tuple[Level, str, int]]) -> None:
    shared = Places(places, queue=queue, who="local")
    writing = most = 0

    async def one(level: Level, fate: str, pauses: int) -> None:
        nonlocal writing, most
        async with shared.taken(level):
            writing += 1
            most = max(most, writing)
            try:
                for _ in range(pauses):
                    await asyncio.sleep(0)
                if fate == "breaks":
                    raise RuntimeError(fate)
            finally:
                writing -= 1

    tasks = []
    for level, fate, pauses in lives:
        tasks.append(asyncio.create_task(one(level, fate, pauses)))
        for _ in range(pauses):
            await asyncio.sleep(0)
        assert shared.waiting <= queue
        if fate == "leaves":
            tasks[-1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most <= places
    assert (writing, shared.waiting) == (0, 0)
    async with AsyncExitStack() as stack:
        for _ in range(places):
            await asyncio.wait_for(stack.enter_async_context(shared.taken("none")), 10)
        with pytest.raises(BackendBusy):
            await stack.enter_async_context(shared.taken("none", patience_s=0))
