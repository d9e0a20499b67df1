"""A stream is never silent for long: comments keep proxies from cutting it, and change nothing of the answer."""

import json

import httpx
import pytest
from http_fakes import LINES, OPENING, FakeResponder
from http_server import running

from serving.http.app import create_app
from serving.http.sending import STILL_HERE
from serving.http.service import HttpOptions

SLOW = (OPENING, 0.6, LINES)
STREAMS = {
    "crisis": ("/crisis/respond", {"message": "x", "stream": True}),
    "openai": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "stream": True}),
}


async def said(path: str, body: object, *, quiet_s: float) -> str:
    app = create_app(FakeResponder(script=SLOW), HttpOptions(quiet_s=quiet_s))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        return (await http.post(path, json=body)).text


@pytest.mark.parametrize(("path", "body"), STREAMS.values(), ids=STREAMS.keys())
async def test_a_quiet_stream_says_comments_and_a_brisk_one_none(path, body):
    comment = STILL_HERE.decode()
    quiet = await said(path, body, quiet_s=0.1)
    before, after = quiet.split(comment)[0], quiet.split(comment)[-1]
    assert quiet.count(comment) >= 2
    assert OPENING.strip() in before
    assert LINES.strip() in after
    assert comment not in await said(path, body, quiet_s=30)


@pytest.mark.parametrize(("path", "body"), STREAMS.values(), ids=STREAMS.keys())
async def test_without_its_comments_a_stream_is_what_it_was(path, body):
    text = (await said(path, body, quiet_s=0.05)).replace(STILL_HERE.decode(), "")
    blocks = [block.split("\n")[-1].removeprefix("data: ") for block in text.split("\n\n")[:-1]]
    last = blocks[-1] if path == "/crisis/respond" else blocks[-2]
    whole = json.loads(last)
    assert (whole if path == "/crisis/respond" else whole["crisis"])["reply"] == OPENING + LINES


@pytest.mark.parametrize(("path", "body"), STREAMS.values(), ids=STREAMS.keys())
async def test_no_text_ends_an_event_early_for_any_reader_of_lines(path, body):
    broken = "I hear\u2028you\u2029.\u0085 Still\x0b\x0c\x1c here."
    app = create_app(FakeResponder(script=(broken,)), HttpOptions())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        lines = (await http.post(path, json=body)).text.splitlines()
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    assert all(line.startswith(("event: ", "data: ")) or not line for line in lines)
    whole = [event["crisis"] if isinstance(event.get("crisis"), dict) else event for event in data]
    assert broken in [event.get("reply") for event in whole]


def test_a_caller_who_leaves_a_quiet_stream_ends_the_work():
    fake = FakeResponder(script=(OPENING, 60.0))
    with running(create_app(fake, HttpOptions(quiet_s=0.05))) as url:
        body = {"message": "x", "stream": True}
        with httpx.stream("POST", f"{url}/crisis/respond", json=body, timeout=10) as response:
            for line in response.iter_lines():
                if line == STILL_HERE.decode().strip():
                    break
        with httpx.stream("POST", f"{url}/crisis/respond", json=body, timeout=10) as response:
            next(response.iter_lines())
    assert fake.closed == 2
