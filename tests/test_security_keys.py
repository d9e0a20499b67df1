"""Keys: kept as hashes, compared without a short cut, bound to scopes and limits, exchanged while the service runs."""

import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Ran, crisis
from http_fakes import FakeResponder
from hypothesis import given
from hypothesis import strategies as st
from running import service

from serving.http.app import create_app
from serving.http.auth import Keys
from serving.http.limits import Limits
from serving.http.service import HttpOptions
from serving.keys import LOOK_AGAIN_S, KeyFile, KeysError, hashed, parse_keys, read_keys

ROW = '[[key]]\nname = "{name}"\nhash = "{hash}"\nscopes = {scopes}\n{more}'


def row(name: str, key: str, *scopes: str, more: str = "") -> str:
    return ROW.format(name=name, hash=hashed(key), scopes=json.dumps(scopes or ("respond",)), more=more)


def written(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def client(options: HttpOptions, fake: FakeResponder | None = None) -> httpx.AsyncClient:
    app = create_app(fake or FakeResponder(), options)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


# what a key may do

ASKS: dict[str, Callable[[httpx.AsyncClient, dict[str, str]], Any]] = {
    "respond": lambda http, key: http.post("/crisis/respond", json={"message": "x"}, headers=key),
    "chat": lambda http, key: http.post(
        "/v1/chat/completions", json={"messages": [{"role": "user", "content": "x"}]}, headers=key
    ),
    "assess": lambda http, key: http.post("/crisis/assess", json={"text": "x"}, headers=key),
    "filter": lambda http, key: http.post("/crisis/filter", json={"reply": "x"}, headers=key),
    "resources": lambda http, key: http.get("/crisis/resources", headers=key),
    "metrics": lambda http, key: http.get("/metrics", headers=key),
}
MAY = {"respond": {"respond", "chat", "assess", "filter", "resources"}, "metrics": {"metrics"}, "admin": set(ASKS)}


@pytest.mark.parametrize("scope", MAY)
async def test_a_key_may_do_what_its_scope_says_and_nothing_else(tmp_path: Path, scope: str):
    file = written(tmp_path / "keys.toml", row("one", "right", scope))
    async with client(HttpOptions(keys_file=file)) as http:
        for name, ask in ASKS.items():
            response = await ask(http, bearer("right"))
            assert response.status_code == (200 if name in MAY[scope] else 403), name
            if response.status_code == 403:
                assert response.json()["error"]["code"] == "forbidden"
                assert response.json()["resources"]


async def test_who_is_no_admin_learns_nothing_of_the_chain(tmp_path: Path):
    file = written(tmp_path / "keys.toml", row("one", "right"), row("boss", "all", "admin"))
    async with client(HttpOptions(keys_file=file)) as http:
        for headers in ({}, bearer("wrong"), bearer("right")):
            assert (await http.get("/readyz", headers=headers)).json() == {"ready": True}
        assert "chain" in (await http.get("/readyz", headers=bearer("all"))).json()


async def test_a_file_without_keys_lets_nobody_in(tmp_path: Path):
    async with client(HttpOptions(keys_file=written(tmp_path / "keys.toml", ""))) as http:
        response = await ASKS["respond"](http, bearer("anything"))
        page = await http.post("/", data={"message": "x", "key": ""})
    assert (response.status_code, page.status_code) == (401, 401)
    assert response.json()["resources"]
    assert "988" in page.text


@pytest.mark.parametrize("place", range(3))
def test_every_known_key_is_compared_whichever_it_is(monkeypatch: pytest.MonkeyPatch, place: int):
    compared: list[str] = []
    monkeypatch.setattr("serving.http.auth.hmac.compare_digest", _counted(compared))
    keys = Keys([hashed(f"key{n}") for n in range(3)])
    found = keys.known(f"key{place}".encode())
    assert found is not None
    assert len(compared) == 3


def _counted(compared: list[str]) -> Callable[[str, str], bool]:
    real = hmac.compare_digest

    def watched(one: str, other: str) -> bool:
        compared.append(other)
        return real(one, other)

    return watched


@given(st.binary(max_size=200))
def test_no_bytes_but_the_keys_own_are_let_in(sent: bytes):
    assert (Keys([hashed("right")]).known(sent) is not None) is (sent == b"right")


# the file

BAD = {
    "no hash": '[[key]]\nname = "a"\n',
    "a key instead of its hash": '[[key]]\nname = "a"\nhash = "crisis_secret-in-clear"\n',
    "no name": f'[[key]]\nhash = "{hashed("x")}"\n',
    "a name with a line break": f'[[key]]\nname = "a\\nb"\nhash = "{hashed("x")}"\n',
    "an unknown scope": row("a", "x", "root"),
    "no scope": row("a", "x").replace('["respond"]', "[]"),
    "a negative limit": row("a", "x", more="per_minute = -1"),
    "a limit that is true": row("a", "x", more="per_minute = true"),
    "an end that is no time": row("a", "x", more='expires = "soon"'),
    "an unknown field": row("a", "x", more="scope = 1"),
    "another table": "[keys]\n",
    "not TOML": "[[key",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_a_file_with_a_mistake_is_refused_whole_and_quotes_no_secret(text: str):
    with pytest.raises(KeysError) as raised:
        parse_keys(text, "keys.toml")
    assert "keys.toml" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "secret-in-clear" not in str(raised.value)


def test_a_file_that_everybody_can_write_is_refused(tmp_path: Path):
    file = written(tmp_path / "keys.toml", row("a", "x"))
    file.chmod(0o666)
    with pytest.raises(KeysError, match="chmod"):
        read_keys(file)


def test_keys_come_and_go_without_a_restart_and_a_broken_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    file, now = written(tmp_path / "keys.toml", row("a", "old")), [0.0]
    keys = Keys(file=KeyFile(file, clock=lambda: now[0]))

    def after(*rows: str) -> set[str]:
        written(file, *rows)
        now[0] += LOOK_AGAIN_S
        return {key for key in ("old", "new") if keys.known(key.encode())}

    assert after(row("a", "old"), row("b", "new")) == {"old", "new"}
    assert after(row("b", "new")) == {"new"}
    assert after("[[key") == {"new"}
    assert "the keys from before still hold" in caplog.text
    file.unlink()
    now[0] += LOOK_AGAIN_S
    assert keys.known(b"new")
    assert after(row("a", "old")) == {"old"}


def test_a_key_ends_when_it_should(tmp_path: Path):
    file = written(tmp_path / "keys.toml", row("a", "x", more="expires = 2030-01-01T00:00:00Z"))
    now = [1893455999.0]  # the last second of 2029
    keys = Keys(file=KeyFile(file), clock=lambda: now[0])
    assert keys.known(b"x")
    now[0] += 1
    assert keys.known(b"x") is None


def test_the_service_does_not_start_without_its_file_of_keys(tmp_path: Path):
    config = tmp_path / "crisis.toml"
    config.write_text(f'[server]\nhost = "0.0.0.0"\nport = 0\nkeys_file = "{tmp_path / "none.toml"}"\n')
    (ran,) = crisis(["serve", "--config", str(config)], env={"XDG_STATE_HOME": str(tmp_path)})
    assert ran.status == 2
    assert "none.toml: cannot be read" in ran.err
    assert "crisis keys add" in ran.err


# the limit


async def test_over_its_limit_a_key_gets_the_static_reply_and_never_silence(tmp_path: Path):
    file = written(tmp_path / "keys.toml", row("a", "busy", more="per_minute = 2"), row("b", "calm"))
    async with client(HttpOptions(keys_file=file)) as http:
        answers = [(await ASKS[name](http, bearer("busy"))).json() for name in ("respond", "chat", "respond", "chat")]
        calm = (await ASKS["respond"](http, bearer("calm"))).json()
        body = {"message": "x", "stream": True}
        stream = (await http.post("/crisis/respond", json=body, headers=bearer("busy"))).text
        page = await http.post("/", data={"message": "x", "key": "busy"})
    told = [answer.get("crisis", answer) for answer in answers]
    assert [done["degraded"] for done in told] == [[], [], ["rate-limit"], ["rate-limit"]]
    for done in told[2:]:
        assert done["source"] == "static"
        assert "988" in done["reply"]
        assert done["resources"]
    assert calm["degraded"] == []
    assert '"degraded":["rate-limit"]' in stream
    assert page.status_code == 200
    assert "988" in page.text


async def test_over_the_limit_the_tools_say_when_to_come_back_and_the_lines_are_never_held_back(tmp_path: Path):
    file = written(tmp_path / "keys.toml", row("a", "busy", more="per_minute = 1"))
    async with client(HttpOptions(keys_file=file)) as http:
        assert (await ASKS["assess"](http, bearer("busy"))).status_code == 200
        for name in ("assess", "filter"):
            response = await ASKS[name](http, bearer("busy"))
            assert response.status_code == 429
            assert 0 < int(response.headers["retry-after"]) <= 60
            assert response.json()["error"]["code"] == "too_many_requests"
            assert response.json()["resources"]
        assert (await ASKS["resources"](http, bearer("busy"))).status_code == 200


@given(st.lists(st.floats(min_value=0, max_value=40), min_size=1, max_size=60), st.integers(1, 30))
def test_nobody_gets_more_than_a_minutes_worth_at_once_and_its_share_after(waits: list[float], per_minute: int):
    now = [0.0]
    limits = Limits(per_minute, clock=lambda: now[0])
    within = 0
    for wait in waits:
        now[0] += wait
        after = limits.over("a")
        within += after == 0
        assert 0 <= after <= 60
    assert within <= per_minute + now[0] * per_minute / 60 + 1e-6
    assert within >= min(len(waits), per_minute)


def test_who_waits_as_told_is_within_the_limit_and_others_are_not_touched():
    now = [0.0]
    limits = Limits(1, clock=lambda: now[0])
    assert limits.over("a") == 0
    wait = limits.over("a")
    assert limits.over("b") == 0
    now[0] += wait
    assert limits.over("a") == 0
    assert limits.over("unbound", 0) == limits.over("unbound", 0) == 0


# the command


def test_the_command_makes_rotates_lists_and_revokes_while_the_service_runs(tmp_path: Path):
    file = tmp_path / "keys.toml"
    at = ["--file", str(file)]
    made, again, listed = crisis(
        ["keys", "add", "agent-1", *at], ["keys", "add", "agent-1", *at], ["keys", "list", "--json", *at], env={}
    )
    assert again.status == 1
    assert "rotate" in again.err
    assert json.loads(listed.out)[0]["scopes"] == ["respond"]
    first = key_in(made)
    assert first not in file.read_text()
    assert hashed(first) in file.read_text()
    assert file.stat().st_mode & 0o007 == 0
    config = f'log_level = "info"\n[server]\nkeys_file = "{file}"\n'
    with service(tmp_path, config, env={"XDG_STATE_HOME": str(tmp_path / "state")}) as running:

        def status(key: str) -> int:
            answer = httpx.post(f"{running.url}/crisis/respond", json={"message": "x"}, headers=bearer(key), timeout=30)
            assert answer.json()["resources"]
            return answer.status_code

        def soon(key: str, wanted: int) -> bool:
            ends = time.monotonic() + 20
            while status(key) != wanted and time.monotonic() < ends:
                time.sleep(0.2)
            return status(key) == wanted

        assert status(first) == 200
        (rotated,) = crisis(["keys", "rotate", "agent-1", "--overlap-hours", "1", *at], env={})
        second = key_in(rotated)
        assert soon(second, 200)
        assert status(first) == 200, "the old key works on for an hour"
        (revoked,) = crisis(["keys", "revoke", "agent-1", *at], env={})
        assert revoked.status == 0
        assert soon(second, 401)
        assert status(first) == 401
    printed = "".join(running.lines)
    assert "key=agent-1" in printed
    assert first not in printed
    assert second not in printed


def key_in(ran: Ran) -> str:
    assert ran.status == 0, ran.err
    return ran.out.split()[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "Bad Name"],
        ["add", "a", "--scope", "root"],
        ["add", "a", "--days", "0"],
        ["add", "a", "--days", "99999999999"],
        ["list"],
        ["rotate", "a"],
        ["revoke", "a"],
    ],
)
def test_wrong_use_of_the_command_is_one_line_and_writes_nothing(tmp_path: Path, arguments: list[str]):
    (ran,) = crisis(["keys", *arguments, "--file", str(tmp_path / "keys.toml")], env={})
    assert ran.status in (1, 2)
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "keys.toml").exists()
