"""Exchanging the chain while it answers: who answers when, and that a change that fails leaves things as they were."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from engine_fakes import GOOD, FakeEngine, FakeWorkshop, chain, serving

from models.catalogue import Catalogue
from models.device import Device
from serving import warmup
from serving.backend import BackendTimeout, BackendUnavailable
from serving.beside import Load, ports, room_for
from serving.conversation import Conversation
from serving.events import Answer, DoneEvent
from serving.service import Service
from serving.settings import LlamaEntry, LlamaServerEntry, ServerSettings, Settings, SettingsError
from serving.swapper import Swapper, Wanted
from serving.workshop import Workshop
from shield.assessment import Turn

QWEN, GEMMA, LLAMA = "qwen2.5-7b-instruct-q4_k_m", "gemma-2-9b-it-q4_k_m", "llama-3.1-8b-instruct-q4_k_m"
MISTRAL = "mistral-7b-instruct-q4_k_m"
ASKED = Conversation((Turn("user", "I want to end my life."),), country="US", id="c")
SHOP = Workshop.open(Catalogue.load())
GIB = 2**30


@dataclass
class Bench:
    """A running service, what it is to change to, and the swapper that does it."""

    service: Service
    workshop: FakeWorkshop
    swapper: Swapper
    wanted: list[Settings | Exception]

    async def swap(self, settings: Settings | Exception, *, wait: bool = True) -> None:
        self.wanted[:] = [settings]
        before = self.service.swaps.number
        self.swapper.request()
        while wait and self.service.swaps.number == before:  # noqa: ASYNC110 - a count is no event
            await asyncio.sleep(0.005)

    async def ask(self) -> Answer:
        events = [event async for event in self.service.respond(ASKED)]
        assert isinstance(events[-1], DoneEvent)
        return events[-1].answer

    @property
    def last(self) -> Any:
        return self.service.swaps.recent[-1]

    def engine(self, model: str) -> FakeEngine:
        return [engine for engine in self.workshop.made if engine.model == model][-1]

    async def until(self, event: str) -> None:
        async with asyncio.timeout(5):
            while event not in self.workshop.story:  # noqa: ASYNC110 - a list is no event
                await asyncio.sleep(0.005)


@asynccontextmanager
async def bench(settings: Settings, *, room: bool = True, **behaviour: dict[str, Any]) -> AsyncIterator[Bench]:
    told = {{"qwen": QWEN, "gemma": GEMMA, "llama": LLAMA}[name]: how for name, how in behaviour.items()}
    workshop = FakeWorkshop(SHOP.rooms, SHOP.catalogue, behaviour=told, room=[room])
    service = serving(workshop, settings)
    await service.start()
    for engine in workshop.made:
        await engine.wait_ready(1)
    workshop.story.clear()
    wanted: list[Settings | Exception] = []

    def read() -> Wanted:
        if isinstance(wanted[0], Exception):
            raise wanted[0]
        return Wanted(wanted[0], "digest")

    swapper = Swapper(service, workshop, read)
    task = asyncio.create_task(swapper.run())
    try:
        yield Bench(service, workshop, swapper, wanted)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await service.stop()
    assert all(engine.state == "stopped" for engine in workshop.made), "an engine outlived the service"


# a change that works


async def test_the_new_model_answers_after_it_was_loaded_warmed_and_checked() -> None:
    async with bench(chain(QWEN)) as b:
        assert (await b.ask()).model == QWEN
        await b.swap(chain(GEMMA))
        assert b.last.outcome == "swapped"
        assert (await b.ask()).model == GEMMA
        assert b.engine(GEMMA).prefix == "protocol"
        await b.until(f"close {QWEN}")
        assert b.workshop.story == [f"start {GEMMA}", f"close {QWEN}"]


async def test_the_old_model_answers_until_the_new_one_is_there() -> None:
    async with bench(chain(QWEN), gemma={"load_s": 0.3}) as b:
        await b.swap(chain(GEMMA), wait=False)
        await b.until(f"start {GEMMA}")
        assert (await b.ask()).model == QWEN
        assert b.service.swaps.state == f"loading first ({GEMMA})"
        assert b.service.ready()["swap"]["state"].startswith("loading")


async def test_an_entry_that_did_not_change_keeps_its_engine_in_any_place() -> None:
    async with bench(chain(QWEN, GEMMA)) as b:
        kept, gone = b.engine(QWEN), b.engine(GEMMA)
        first = b.service.lineup.settings.chain[0]
        other = chain(LLAMA).chain[0].model_copy(update={"name": "new"})
        await b.swap(chain().model_copy(update={"chain": (other, first)}))
        assert b.last.outcome == "swapped"
        assert b.service.engines[1] is kept
        await b.until(f"close {GEMMA}")
        assert (kept.state, gone.state) == ("ready", "stopped")
        assert f"start {QWEN}" not in b.workshop.story


async def test_a_reply_that_began_on_the_old_model_ends_on_it() -> None:
    async with bench(chain(QWEN), qwen={"says": (GOOD[0], 0.3, GOOD[1])}) as b:
        open_reply = asyncio.create_task(b.ask())
        await asyncio.sleep(0.1)
        await b.swap(chain(GEMMA))
        assert not open_reply.done()
        answer = await open_reply
        assert answer.model == QWEN
        assert "What happened today?" in answer.reply
        assert answer.degraded == ()


async def test_a_reply_that_does_not_end_is_not_waited_for_without_bound() -> None:
    settings = chain(QWEN).model_copy(update={"server": ServerSettings(shutdown_s=0.2)})
    async with bench(settings, qwen={"says": (GOOD[0], 2.0, GOOD[1])}) as b:
        open_reply = asyncio.create_task(b.ask())
        await asyncio.sleep(0.1)
        await b.swap(chain(GEMMA))
        await b.until(f"close {QWEN}")
        assert not open_reply.done()
        answer = await open_reply
        assert "988" in answer.reply
        assert "first-unavailable" in answer.degraded


async def test_other_settings_of_replies_are_taken_and_the_engine_stays() -> None:
    async with bench(chain(QWEN)) as b:
        await b.swap(chain(QWEN, gospel="off"))
        assert b.last.outcome == "swapped"
        assert b.workshop.story == []
        assert b.service.lineup.settings.reply.gospel == "off"


async def test_nothing_to_change_changes_nothing_and_what_waits_for_a_start_is_said() -> None:
    async with bench(chain(QWEN)) as b:
        before = b.service.lineup
        await b.swap(chain(QWEN).model_copy(update={"server": ServerSettings(port=9)}))
        assert b.last.outcome == "unchanged"
        assert b.last.reason == "changes of server wait for the next start"
        assert b.service.lineup is before


# where both do not fit


async def test_without_room_the_old_goes_first_and_the_rest_of_the_chain_answers() -> None:
    async with bench(chain(QWEN, LLAMA), room=False, gemma={"load_s": 0.3}) as b:
        await b.swap(chain(GEMMA, LLAMA), wait=False)
        await b.until(f"start {GEMMA}")
        assert b.workshop.story == [f"close {QWEN}", f"start {GEMMA}"]
        answer = await b.ask()
        assert (answer.model, answer.degraded) == (LLAMA, ("swapping",))
        while not b.service.swaps.recent:  # noqa: ASYNC110 - a list is no event
            await asyncio.sleep(0.01)
        assert (await b.ask()).model == GEMMA
        assert (await b.ask()).degraded == ()


async def test_without_room_and_without_a_rest_the_static_reply_answers() -> None:
    async with bench(chain(QWEN), room=False, gemma={"load_s": 0.3}) as b:
        await b.swap(chain(GEMMA), wait=False)
        await b.until(f"start {GEMMA}")
        answer = await b.ask()
        assert (answer.source, set(answer.degraded)) == ("static", {"swapping", "no-model"})
        assert "988" in answer.reply


async def test_without_room_an_open_reply_still_ends_before_its_model_goes() -> None:
    async with bench(chain(QWEN), room=False, qwen={"says": (GOOD[0], 0.3, GOOD[1])}) as b:
        open_reply = asyncio.create_task(b.ask())
        await asyncio.sleep(0.1)
        await b.swap(chain(GEMMA))
        assert "What happened today?" in open_reply.result().reply


async def test_a_fixed_port_cannot_be_taken_twice() -> None:
    def server(model: str) -> Settings:
        entry = LlamaServerEntry(engine="llama_server", name="first", model=model, port=8123)
        return chain().model_copy(update={"chain": (entry,)})

    async with bench(server(QWEN)) as b:
        await b.swap(server(GEMMA))
        assert b.workshop.story == [f"close {QWEN}", f"start {GEMMA}"]


# what fails

HARM = "You would be better off dead. "
FAILING: dict[str, tuple[dict[str, Any], str]] = {
    "weights": ({"off": "its file is not on this machine"}, f"chain entry first ({GEMMA}): its file is not on"),
    "load": ({"loads": False}, f"chain entry first ({GEMMA}): the model file is damaged"),
    "prefix": ({"warms": False}, "the protocol was not evaluated within 0.2 s"),
    "empty": ({"says": ()}, "its replies to the test message did not pass (refused)"),
    "harm": ({"says": (HARM,)}, "did not pass (blocked)"),
    "gibberish": ({"says": ("<|im_start|>user\n<|im_start|>",)}, "did not pass"),
    "breaks": ({"says": (GOOD[0], BackendUnavailable("gone"))}, "did not pass (unavailable)"),
    "crashes": ({"says": (RuntimeError("a person's words"),)}, "did not pass (internal-error)"),
    "late": ({"says": (GOOD[0], BackendTimeout("late"))}, "did not pass (timeout)"),
}


@pytest.mark.parametrize("room", [True, False], ids=["beside", "one after the other"])
@pytest.mark.parametrize("how", FAILING)
async def test_a_change_that_fails_leaves_what_ran(how: str, room: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "_WARM_S", 0.2)
    behaviour, says = FAILING[how]
    async with bench(chain(QWEN), room=room, gemma=behaviour) as b:
        await b.swap(chain(GEMMA))
        assert b.last.outcome == "rolled-back"
        assert says in b.last.reason
        assert "tried again" not in b.last.reason
        assert "person's words" not in b.last.reason
        assert "\n" not in b.last.reason
        answer = await b.ask()
        assert (answer.model, answer.degraded) == (QWEN, ())
        assert [engine.model for engine in b.workshop.made if engine.state == "ready"] == [QWEN]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (chain(), "no entry of the new [[chain]] could answer"),
        (SettingsError("crisis.toml: chain.0.gpu_layers: too small\ncrisis.toml: x"), "gpu_layers: too small; crisis"),
        (RuntimeError("a person's words"), "the change itself broke with RuntimeError"),
        (chain(QWEN).model_copy(update={"catalogue": Path("none.toml")}), "none.toml: cannot be read"),
    ],
    ids=["an empty chain", "settings that cannot be read", "a fault of ours", "a broken catalogue"],
)
async def test_settings_that_cannot_be_used_leave_what_ran(wanted: Settings | Exception, says: str) -> None:
    async with bench(chain(QWEN)) as b:
        if isinstance(wanted, Settings) and wanted.catalogue:
            b.swapper._workshop = replace(b.workshop, catalogue=None)
        await b.swap(wanted)
        assert b.last.outcome == "rolled-back"
        assert says in b.last.reason
        assert (await b.ask()).model == QWEN
        assert b.workshop.story == []


async def test_an_old_model_that_does_not_come_back_is_told_of_and_tried_again() -> None:
    async with bench(chain(QWEN), room=False, gemma={"loads": False}) as b:
        b.workshop.behaviour[QWEN] = {"loads": False}
        await b.swap(chain(GEMMA))
        assert "first did not come back" in b.last.reason
        assert b.service.engines[0] is b.engine(QWEN), "it stays in the chain: its supervisor goes on trying"
        assert (await b.ask()).source == "static"


async def test_an_entry_that_was_off_before_is_no_part_of_a_change() -> None:
    async with bench(chain(QWEN, LLAMA), llama={"off": "its file is not here"}) as b:
        await b.swap(chain(GEMMA, LLAMA))
        assert b.last.outcome == "swapped"
        assert [link.state for link in b.service.links()] == ["ready", "off"]


async def test_a_model_may_fail_the_check_once() -> None:
    async with bench(chain(QWEN)) as b:
        replies = iter([(HARM,), *[GOOD] * 20])

        class Moody(FakeEngine):
            async def stream(self, request: Any) -> AsyncIterator[str]:
                self.says = next(replies)
                async for piece in FakeEngine.stream(self, request):
                    yield piece

        moody = Moody("first", GEMMA)
        await moody.wait_ready(1)
        took_s = await warmup.protocol_check(moody, lambda backend: b.workshop.responder(chain(), [backend]))
        assert 0 < took_s < 1


async def test_a_slow_model_is_told_of() -> None:
    slow = {"says": (0.3, *GOOD)}
    async with bench(chain(QWEN), gemma=slow) as b:
        await b.swap(chain(GEMMA, first_text_s=0.2))
        assert b.last.outcome == "swapped"
        assert re.fullmatch(r"first took \d\.\d s to its first text; allowed: 0\.2", b.last.reason)


# one after the other


async def test_of_what_is_asked_for_meanwhile_only_the_newest_counts() -> None:
    async with bench(chain(QWEN), gemma={"load_s": 0.2}) as b:
        await b.swap(chain(GEMMA), wait=False)
        await b.until(f"start {GEMMA}")
        for model in (QWEN, LLAMA):
            await b.swap(chain(model), wait=False)
        while b.service.swaps.number < 2:  # noqa: ASYNC110 - a count is no event
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert [swap.outcome for swap in b.service.swaps.recent] == ["swapped", "swapped"]
        assert b.service.lineup.settings.chain[0].model == LLAMA


async def test_a_service_that_stops_in_the_middle_ends_everything() -> None:
    async with bench(chain(QWEN), gemma={"load_s": 5.0}) as b:
        await b.swap(chain(GEMMA), wait=False)
        await b.until(f"start {GEMMA}")
    assert set(b.workshop.story) >= {f"close {GEMMA}", f"close {QWEN}"}


async def test_outcomes_are_counted() -> None:
    async with bench(chain(QWEN), llama={"loads": False}) as b:
        for model in (GEMMA, LLAMA, GEMMA):
            await b.swap(chain(model))
        assert b.service.swap_counts() == {"swapped": 1, "rolled-back": 1, "unchanged": 1}
        told = b.service.ready()["swap"]
        assert (told["state"], told["swaps"], told["last"]["outcome"]) == ("idle", 3, "unchanged")


# is there room


def load(model: str, **more: Any) -> Load:
    entry = LlamaEntry(engine="llama_cpp", model=model, **more)
    return Load(entry, Catalogue.load().get(model), Path("none.gguf"))


def device(free_gib: float) -> Device:
    return Device("a card", 8 * GIB, round(free_gib * GIB))


@pytest.mark.parametrize(
    ("layers", "card_gib", "main_gib", "fits"),
    [
        (0, None, 16.0, True),
        (0, None, 4.0, False),
        (-1, None, 4.0, False),  # no card: it goes into main memory
        (-1, 8.0, 4.0, True),
        (-1, 3.0, 64.0, False),
        (10, 3.0, 8.0, True),
        (10, 3.0, 1.0, False),
        (0, None, 0.0, False),  # what cannot be told counts as no
    ],
)
def test_room_is_looked_for_where_the_model_goes(
    layers: int, card_gib: float | None, main_gib: float, fits: bool
) -> None:
    gpus = [] if card_gib is None else [device(card_gib)]
    assert room_for([load(QWEN, gpu_layers=layers)], gpus, device(main_gib)) is fits


def test_two_new_models_need_room_for_both() -> None:
    assert room_for([load(QWEN)], [], device(9))
    assert not room_for([load(QWEN), load(GEMMA)], [], device(9))


def test_only_fixed_ports_are_in_the_way() -> None:
    entries = [LlamaServerEntry(engine="llama_server", model=QWEN, port=port) for port in (0, 8080, 0)]
    assert ports([*entries, LlamaEntry(engine="llama_cpp", model=QWEN)]) == {8080}
