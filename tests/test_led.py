"""A weak model is given the first words of each sentence, and may go no further than its end."""

import pytest

from serving.backend import BackendRefused, BackendUnavailable, Request
from serving.backends.led import LedBackend
from serving.backends.scripted import ScriptedBackend
from shield.assessment import Turn

CRISIS = Request((Turn("user", "I want to die"),), prefix="Are you safe right now?", level="moderate")
LEADS = {"en": ("It sounds like you are", "Can you tell me")}


async def said(inner: ScriptedBackend, request: Request = CRISIS) -> list[str]:
    return [piece async for piece in LedBackend(inner, LEADS).stream(request)]


async def test_each_lead_gives_one_sentence_and_the_rest_is_not_waited_for() -> None:
    inner = ScriptedBackend([" going through", " a lot. And then the dragon"])
    assert await said(inner) == [
        "It sounds like you are going through a lot. ",
        "Can you tell me going through a lot. ",
    ]
    assert inner.requests[0].prefix == "Are you safe right now? It sounds like you are"
    assert inner.requests[0].max_tokens < 40


async def test_a_sentence_without_an_end_is_left_out() -> None:
    assert "".join(await said(ScriptedBackend([" going and going"]))).strip() == ""


async def test_nothing_to_add_to_one_lead_is_no_reason_to_give_up_the_others() -> None:
    assert len(await said(ScriptedBackend([BackendRefused("empty")]))) == 2


async def test_an_engine_that_is_gone_is_reported() -> None:
    with pytest.raises(BackendUnavailable):
        await said(ScriptedBackend([BackendUnavailable("gone")]))


@pytest.mark.parametrize(
    "request_", [Request(CRISIS.turns, level="none"), Request(CRISIS.turns, level="high", language="fi")]
)
async def test_without_a_crisis_or_leads_in_the_language_it_is_the_backend_itself(request_: Request) -> None:
    assert await said(ScriptedBackend(["Boil ", "it."]), request_) == ["Boil ", "it."]
