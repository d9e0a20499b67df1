"""Counts of referrals: right, kept over restarts and failing disks, and nothing but numbers."""

import asyncio
import datetime
import json
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import crisis
from http_fakes import LINES, OPENING, FakeResponder
from http_server import running as served
from hypothesis import given, settings
from hypothesis import strategies as st
from running import service

from serving.http.app import create_app
from serving.http.chain_metrics import Chain
from serving.http.service import HttpOptions
from serving.http.tally import names_a_line
from serving.keys import hashed
from serving.records import AUDIT_NAME, MOST_LINES, Records
from serving.referrals import FILE_NAME, Period, ReferralsError, Report, add, read

TODAY = datetime.datetime.now(datetime.UTC).date()
THIS_YEAR = Period(TODAY.replace(month=1, day=1), TODAY.replace(month=12, day=31))
CANARY = "nobody-would-miss-me"


def client(records: Records, fake: FakeResponder | None = None, **options: Any) -> httpx.AsyncClient:
    app = create_app(fake or FakeResponder(), HttpOptions(**options), records=records)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


def counted(records: Records) -> Report:
    return records.report(THIS_YEAR)


async def ask(http: httpx.AsyncClient, path: str = "/crisis/respond", **body: Any) -> str:
    sent = {"messages": [{"role": "user", "content": CANARY}], **body}
    return (await http.post(path, json=sent)).raise_for_status().text


async def test_every_way_to_an_answer_is_counted_once(tmp_path: Path):
    records = Records(tmp_path)
    async with client(records) as http:
        for path in ("/crisis/respond", "/v1/chat/completions"):
            await ask(http, path)
            await ask(http, path, stream=True)
        (await http.post("/", data={"message": CANARY})).raise_for_status()
        await http.post("/crisis/assess", json={"text": CANARY})
        await http.post("/crisis/respond", content=b"{")
    report = counted(records)
    assert report.referrals == 5
    assert report.by_level["high"] == report.in_words["high"] == 5


async def test_where_the_words_name_no_line_only_the_field_counts(tmp_path: Path):
    records = Records(tmp_path)
    async with client(records, FakeResponder(script=("I'm an AI, here. Call 911 if you are in danger.",))) as http:
        await ask(http)
    async with client(records, FakeResponder(level="none")) as http:
        await ask(http)
    facts = counted(records).to_json()
    assert (facts["referrals"], facts["named_in_the_reply"], facts["answers_without_sign_of_crisis"]) == (1, 0, 1)


def test_the_emergency_number_alone_is_no_referral():
    lines = [
        {"id": "e", "name": "Emergency", "kind": "emergency", "phone": "911", "sms": None, "url": None},
        {"id": "l", "name": "Line", "kind": "crisis_line", "phone": None, "sms": "741741", "url": None},
    ]
    assert not names_a_line("Call 911.", lines)
    assert names_a_line("Text HOME to 741741.", lines)


def test_who_leaves_after_the_lines_was_referred_all_the_same(tmp_path: Path):
    records = Records(tmp_path)
    fake = FakeResponder(script=(OPENING, 60.0))
    with served(create_app(fake, HttpOptions(), records=records)) as url:
        body = {"message": "x", "stream": True}
        with httpx.stream("POST", f"{url}/crisis/respond", json=body, timeout=10) as response:
            for line in response.iter_lines():
                if line.startswith("event: sentence"):
                    break
    assert counted(records).by_level["high"] == 1
    assert counted(records).in_words["high"] == 0


def test_counts_outlive_restarts_and_two_services_may_share_them(tmp_path: Path):
    def serve(times: int) -> None:
        records = Records(tmp_path)
        for _ in range(times):
            records.referral("low", "words")
            records.flush()

    threads = [threading.Thread(target=serve, args=(20,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    serve(2)
    assert read(tmp_path / FILE_NAME, THIS_YEAR).by_level["low"] == 42


DAYS = st.dates(datetime.date(2026, 1, 1), datetime.date(2028, 12, 31))


@settings(max_examples=30)
@given(st.lists(st.tuples(DAYS, st.sampled_from(["none", "high"]), st.integers(1, 9)), max_size=8), DAYS, DAYS)
def test_a_period_holds_its_days_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[datetime.date, str, int]], one: Any, other: Any
):
    path = tmp_path_factory.mktemp("counts") / FILE_NAME
    for day, level, count in rows:
        add(path, {(day.isoformat(), level, "words"): count})
    period = Period(min(one, other), max(one, other))
    expected = sum(n for day, level, n in rows if level == "high" and period.first <= day <= period.last)
    assert read(path, period).referrals == expected


@pytest.mark.parametrize("how", ["a file where the folder should be", "a file that is no database", "a full disk"])
def test_what_cannot_be_written_waits_is_told_once_and_is_not_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str
):
    folder = tmp_path / "state"
    if how == "a file where the folder should be":
        folder.write_text("")
    elif how == "a file that is no database":
        folder.mkdir()
        (folder / FILE_NAME).write_text("no database " * 100)
    else:
        folder.mkdir()
        (folder / AUDIT_NAME).symlink_to("/dev/full")
    records = Records(folder, audit=True)
    for number in range(3):
        records.referral("high", "words")
        records.answered({"n": number})
        records.flush()
    assert records.failures >= 3
    assert records.waiting >= 3
    assert len([record for record in caplog.records if "cannot be written" in record.message]) == 1
    mend(folder)
    records.flush()
    assert records.waiting == 0
    assert counted(records).by_level["high"] == 3
    lines = (folder / AUDIT_NAME).read_text().splitlines()
    assert [json.loads(line)["n"] for line in lines] == [0, 1, 2]


def mend(folder: Path) -> None:
    if folder.is_file():
        folder.unlink()
    for name in (AUDIT_NAME, FILE_NAME):
        path = folder / name
        if path.is_symlink() or (name == FILE_NAME and path.exists() and b"no database" in path.read_bytes()):
            path.unlink()


def test_what_waits_is_bounded(tmp_path: Path):
    (tmp_path / "state").write_text("")
    records = Records(tmp_path / "state", audit=True)
    for _ in range(MOST_LINES + 10):
        records.answered({})
    records.flush()
    records.answered({})
    assert records.waiting <= MOST_LINES
    assert records.dropped >= 10


async def test_an_audit_line_says_how_an_answer_was_made_and_nothing_of_what_was_said(tmp_path: Path):
    records = Records(tmp_path, audit=True)
    async with client(records) as http:
        await ask(http, country="US", conversation_id=CANARY, context=[{"id": CANARY, "text": CANARY}])
    records.flush()
    text = (tmp_path / AUDIT_NAME).read_text()
    (entry,) = map(json.loads, text.splitlines())
    assert entry["level"] == "high"
    assert entry["rules"] == ["direct.want-to-die"]
    assert entry["lines"][0] == "us-988"
    assert {"time", "request", "route", "key", "source", "model", "degraded", "verdict", "timings"} <= set(entry)
    assert CANARY not in text
    assert OPENING.strip() not in text
    assert LINES not in text
    assert (tmp_path / AUDIT_NAME).stat().st_mode & 0o077 == 0


async def test_by_default_there_is_no_audit_and_the_store_holds_days_and_numbers(tmp_path: Path):
    records = Records(tmp_path)
    async with client(records) as http:
        await ask(http)
    records.flush()
    assert os.listdir(tmp_path) == [FILE_NAME]
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as store:
        assert store.execute("SELECT * FROM referrals").fetchall() == [(TODAY.isoformat(), "high", "words", 1)]


async def test_operators_can_ask_the_running_service(tmp_path: Path):
    records = Records(tmp_path)
    key = {"x-api-key": "boss"}
    async with client(records, api_keys=(hashed("boss"),)) as http:
        await http.post("/crisis/respond", json={"message": "x"}, headers=key)
        told = (await http.get("/crisis/report", headers=key)).json()
        early = (await http.get("/crisis/report?from=2020-01-01&to=2020-12-31", headers=key)).json()
        wrong = await http.get("/crisis/report?from=never", headers=key)
        swapped = await http.get("/crisis/report?from=2020-01-02&to=2020-01-01", headers=key)
        refused = await http.get("/crisis/report")
    assert told["referrals"] == 1
    assert told["from"] == TODAY.replace(month=1, day=1).isoformat()
    assert early["referrals"] == 0
    assert (wrong.status_code, swapped.status_code, refused.status_code) == (422, 422, 401)
    assert wrong.json()["resources"]


async def test_a_service_that_counts_nothing_says_so():
    app = create_app(FakeResponder(), HttpOptions())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        response = await http.get("/crisis/report")
    assert response.status_code == 404
    assert response.json()["resources"]


async def test_metrics_show_referrals_writing_and_the_chain(tmp_path: Path):
    records = Records(tmp_path)
    async with client(records) as http:
        await ask(http)
        text = (await http.get("/metrics")).text
    assert 'crisis_referrals_total{how="words",level="high"} 1.0' in text
    assert 'crisis_chain_entry_state{engine="llama-cpp",entry="main",state="ready"} 1.0' in text
    assert 'crisis_chain_entry_state{engine="llama-cpp",entry="main",state="failed"} 0.0' in text
    assert "crisis_records_waiting 1.0" in text
    assert 'crisis_writing_seconds_count{source="local"} 1.0' in text
    assert "process_resident_memory_bytes" in text
    assert CANARY not in text


def test_circuits_and_queues_are_shown_where_they_are_known():
    row = {"name": "local", "engine": "llama_cpp", "state": "ready", "circuit": "half-open", "waiting": 3}
    bare = {"name": "claude", "engine": "claude", "state": "off"}
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in Chain(lambda: [row, bare]).collect()
        for sample in family.samples
    }
    assert samples["crisis_chain_circuit", "local", "llama_cpp", "half-open"] == 1
    assert samples["crisis_chain_circuit", "local", "llama_cpp", "open"] == 0
    assert samples["crisis_chain_waiting", "local"] == 3
    assert ("crisis_chain_waiting", "claude") not in samples


# the command, and the service that writes


def test_the_service_writes_and_the_command_reads(tmp_path: Path):
    state = tmp_path / "records"
    config = f'[records]\naudit = true\nfolder = "{state}"\n[reply]\ndefault_country = "US"\n'
    with service(tmp_path, config, env={"XDG_STATE_HOME": str(tmp_path / "xdg")}) as running:
        assert running.respond("I want to end my life")["assessment"]["crisis"]
        assert not running.respond("What is a good name for a cat?")["assessment"]["crisis"]
    at = ["--config", str(tmp_path / "crisis.toml")]
    year = ["--year", str(TODAY.year)]
    plain, told, before = crisis(
        ["report", *at], ["report", *year, "--json", *at], ["report", "--year", "2020", "--json", *at], env={}
    )
    facts = json.loads(told.out)
    assert (facts["referrals"], facts["named_in_the_reply"]) == (1, 1)
    assert facts["answers_without_sign_of_crisis"] == 1
    assert "Referrals to a crisis service: 1" in plain.out
    assert json.loads(before.out)["referrals"] == 0
    assert len((state / AUDIT_NAME).read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "arguments", [["--year", "2026", "--from", "2026-01-01"], ["--from", "yesterday"], ["--from", "2999-01-01"]]
)
def test_a_period_that_is_none_is_wrong_use(tmp_path: Path, arguments: list[str]):
    (ran,) = crisis(["report", *arguments], env={"XDG_STATE_HOME": str(tmp_path)}, cwd=tmp_path)
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1


def test_a_store_that_cannot_be_read_is_a_failure_and_no_zero(tmp_path: Path):
    (tmp_path / FILE_NAME).write_text("no database " * 100)
    with pytest.raises(ReferralsError, match=FILE_NAME):
        read(tmp_path / FILE_NAME, THIS_YEAR)


async def test_writing_goes_on_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("serving.records.FLUSH_S", 0.01)
    records = Records(tmp_path)
    records.referral("low", "field")
    task = asyncio.create_task(records.run())
    for _ in range(500):
        if not records.waiting and (tmp_path / FILE_NAME).exists():
            break
        await asyncio.sleep(0.01)
    task.cancel()
    assert read(tmp_path / FILE_NAME, THIS_YEAR).by_level["low"] == 1
