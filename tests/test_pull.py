"""Pulling: against a real hub server on loopback, with everything that a network, a hub and a disk do wrong."""

import contextlib
import hashlib
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Ran, clean, crisis
from peers.hub import BIG_BYTES, COMMIT, content
from peers.process import Peer

from models import lock
from models.catalogue import ModelCard, ModelNotAllowed
from models.hub import PullFailed
from models.pull import adopt, pull
from models.weights import WeightsDamaged, verify

ENTRY = """
[[model]]
name = "{name}"
title = "A model of a test"
repo = "test/{repo}"
file = "{file}"
status = "unapproved"
reason = "made up"
licence = "none"
"""
SCENARIOS = (
    "ok", "redirect", "no-hash", "gated", "private", "forbidden", "no-file", "no-commit", "down", "wrong-size",
    "wrong-hash", "huge", "not-a-hub", "cut-there",
)  # fmt: skip


@dataclass(frozen=True)
class Here:
    """A hub that runs, a catalogue of its models, an empty folder."""

    hub: Peer
    folder: Path
    catalogue: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "HF_ENDPOINT": self.hub.url,
            "HF_HOME": str(self.folder.parent / "hf"),
            "CRISIS_WEIGHTS_DIR": str(self.folder),
            "CRISIS_CATALOGUE": str(self.catalogue),
            "XDG_CONFIG_HOME": str(self.folder.parent / "none"),
        }

    def files(self) -> list[str]:
        """What lies in the weights folder, but for the guard of its lock."""
        names = (path.name for path in self.folder.iterdir()) if self.folder.exists() else ()
        return sorted(name for name in names if not name.endswith(".guard"))

    def locked(self, file: str) -> lock.Locked:
        return lock.read(self.folder)[file]


@pytest.fixture(scope="module")
def hub() -> Iterator[Peer]:
    peer = Peer.start("hub")
    yield peer
    peer.stop()


@pytest.fixture
def here(hub: Peer, tmp_path: Path) -> Here:
    return _here(hub, tmp_path)


def _here(hub: Peer, folder: Path) -> Here:
    catalogue = folder / "own.toml"
    entries = [ENTRY.format(name=name, repo=name, file=f"{name}.gguf") for name in SCENARIOS]
    entries += [ENTRY.format(name=f"big-{name}", repo=name, file=f"{name}-big.gguf") for name in BROKEN]
    entries.append(ENTRY.format(name="not-gguf", repo="ok", file="not-gguf.bin"))
    catalogue.write_text("\n".join(entries), encoding="utf-8")
    return Here(hub, folder / "weights", catalogue)


CHUNK = 10 * 1024 * 1024  # huggingface_hub writes so much at a time
BROKEN = ("broken", "stalls", "watched", "no-range", "full")


@pytest.fixture(scope="module")
def answers(hub: Peer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Here, dict[str, Ran]]:
    """Every scenario pulled once, in one process."""
    here = _here(hub, tmp_path_factory.mktemp("pulled"))
    names = (*SCENARIOS, "not-gguf")
    env = here.env | {"HF_TOKEN": "hf_secret"}
    return here, dict(zip(names, crisis(*(["models", "pull", name] for name in names), env=env), strict=True))


def test_a_pulled_file_is_whole_checked_and_recorded_with_its_commit(answers: tuple[Here, dict[str, Ran]]) -> None:
    here, ran = answers
    assert ran["ok"].status == 0, ran["ok"].err
    data = (here.folder / "ok.gguf").read_bytes()
    assert data == content("ok.gguf")
    entry = here.locked("ok.gguf")
    assert entry.sha256 == hashlib.sha256(data).hexdigest()
    assert (entry.repo, entry.revision, entry.size_bytes) == ("test/ok", COMMIT, len(data))
    assert (entry.origin, entry.checked_against) == ("hub", "hub")
    assert entry.sha256 in ran["ok"].out


def test_a_token_goes_to_the_hub_and_not_to_where_it_sends_us(answers: tuple[Here, dict[str, Ran]]) -> None:
    here, ran = answers
    assert ran["redirect"].status == 0, ran["redirect"].err
    asked = here.hub.asked("redirect")
    assert [(request["method"], request["authorized"]) for request in asked] == [("HEAD", True), ("GET", False)]
    assert asked[1]["host"].startswith("localhost:")


def test_nothing_else_is_asked_of_the_hub(answers: tuple[Here, dict[str, Ran]]) -> None:
    here, _ = answers
    assert [request["method"] for request in here.hub.asked("ok")][:2] == ["HEAD", "GET"]
    assert all("/resolve/" in request["path"] or request["path"].startswith("/cdn/") for request in _all(here.hub))


def _all(hub: Peer) -> list[dict[str, str]]:
    requests: list[dict[str, str]] = hub.shapes()["asked"]
    return requests


def test_a_file_without_a_hash_is_recorded_as_compared_with_nothing(answers: tuple[Here, dict[str, Ran]]) -> None:
    here, ran = answers
    assert ran["no-hash"].status == 0
    assert "compared with nothing" in ran["no-hash"].out
    assert here.locked("no-hash.gguf").checked_against == "nothing"


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ("gated", "asks for permission, or is not there; accept its terms"),
        ("private", "asks for permission, or is not there"),
        ("forbidden", "set HF_TOKEN"),
        ("no-file", "has no no-file.gguf; check repo and file"),
        ("no-commit", "the recorded commit is gone"),
        ("down", "answered with status 503; try again later"),
        ("wrong-size", "fewer or more bytes came than the hub promised"),
        ("wrong-hash", "not what the hub describes (SHA-256 differs)"),
        ("huge", "1000000.0 GB are needed"),
        ("not-a-hub", "does not answer like a Hugging Face hub"),
        ("not-gguf", "is not a GGUF file"),
        ("cut-there", "is not a whole GGUF file, there already"),
    ],
)
def test_what_the_hub_does_wrong_is_one_line_and_leaves_nothing_that_looks_whole(
    answers: tuple[Here, dict[str, Ran]], scenario: str, says: str
) -> None:
    here, ran = answers
    got = ran[scenario]
    assert (got.status, got.out) == (1, "")
    (line,) = got.err.splitlines()
    assert line.startswith("crisis: ")
    assert says in line
    assert "hf_secret" not in line
    assert not (here.folder / f"{scenario}.gguf").exists()
    assert f"{scenario}.gguf" not in lock.read(here.folder)


def test_only_whole_files_their_lock_and_hidden_parts_are_left(answers: tuple[Here, dict[str, Ran]]) -> None:
    here, _ = answers
    shown = [name for name in here.files() if not name.startswith(".")]
    assert shown == ["models.lock", "no-hash.gguf", "ok.gguf", "redirect.gguf"]
    parts = [path for path in here.folder.glob(".*.part") if not path.name.startswith(".wrong-size")]
    assert parts == [], "what turned out wrong is not gone on with"


def test_a_broken_connection_is_one_line_and_the_next_try_goes_on(here: Here) -> None:
    first, second = crisis(*[["models", "pull", "big-broken"]] * 2, env=here.env)
    assert (first.status, len(first.err.splitlines())) == (1, 1)
    assert "what came so far is kept: pull again" in first.err
    assert second.status == 0, second.err
    assert f"{CHUNK:,} bytes were here from before" in second.out
    ranges = [request["range"] for request in here.hub.asked("broken") if request["method"] == "GET"]
    assert ranges == [None, f"bytes={CHUNK}-"]
    assert (here.folder / "broken-big.gguf").read_bytes() == content("broken-big.gguf")


def test_a_server_that_cannot_go_on_is_asked_for_the_whole_file_again(here: Here) -> None:
    first, second = crisis(*[["models", "pull", "big-no-range"]] * 2, env=here.env)
    assert (first.status, second.status) == (1, 0)
    assert (here.folder / "no-range-big.gguf").read_bytes() == content("no-range-big.gguf")


def test_a_killed_pull_leaves_no_file_of_that_name_and_goes_on_in_another_process(here: Here) -> None:
    command = [sys.executable, "-m", "cli", "models", "pull", "big-stalls"]
    process = subprocess.Popen(command, env=clean(here.env), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    ends = time.monotonic() + 30
    while not (parts := list(here.folder.glob(".*.part"))) or parts[0].stat().st_size == 0:
        assert time.monotonic() < ends
        assert process.poll() is None
        time.sleep(0.05)
    second = crisis(["models", "pull", "big-stalls"], env=here.env)[0]
    assert second.status == 1
    assert "another process is pulling the same file" in second.err
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (here.folder / "stalls-big.gguf").exists()
    third = crisis(["models", "pull", "big-stalls"], ["models", "verify"], env=here.env)
    assert third[0].status == 0, third[0].err
    assert f"{CHUNK:,} bytes were here" in third[0].out
    assert third[1].out.startswith("genuine")


def test_a_terminal_sees_how_far_it_is_and_ctrl_c_keeps_what_came(here: Here) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "cli", "models", "pull", "big-watched"]
    patient = {"HF_HUB_DOWNLOAD_TIMEOUT": "60"}  # else a busy machine tries again before it is interrupted
    env = clean(here.env | patient | {"TERM": "xterm", "COLUMNS": "100"})

    def interruptible() -> None:  # what runs in the background of a shell inherits that Ctrl-C is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(command, env=env, stdout=follower, stderr=follower, preexec_fn=interruptible)
    os.close(follower)
    seen = b""
    while b"10.5/24.0 MB" not in seen:
        seen += os.read(leader, 65_536)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # the terminal's end, once nobody writes to it
        while more := os.read(leader, 65_536):
            seen += more
    os.close(leader)
    assert process.wait(20) == 130
    assert b"watched-big.gguf" in seen
    assert b"Traceback" not in seen
    (part,) = here.folder.glob(".*.part")
    assert part.stat().st_size == CHUNK


def test_a_full_disk_is_one_line(here: Here) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000_000, 12_000_000))

    ran = crisis(["models", "pull", "big-full"], env=here.env, before=small_files)[0]
    assert (ran.status, len(ran.err.splitlines())) == (1, 1)
    assert "the disk is full; make room and pull again" in ran.err
    assert not (here.folder / "full-big.gguf").exists()
    assert crisis(["models", "pull", "big-full"], env=here.env)[0].status == 0
    assert (here.folder / "full-big.gguf").stat().st_size == BIG_BYTES


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "no connection to 127.0.0.1:9"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
        ({"HF_ENDPOINT": "nowhere"}, "check HF_ENDPOINT"),
        ({"HF_ENDPOINT": "http://[::1"}, "'http://[::1' is no hub's address; check HF_ENDPOINT"),
        ({"HF_ENDPOINT": "http://127.0.0.1:hub"}, "check HF_ENDPOINT"),
    ],
    ids=["no network", "offline", "nonsense", "half an address", "no port"],
)
def test_without_a_network_there_is_one_line_and_nothing_written(here: Here, env: dict[str, str], says: str) -> None:
    ran = crisis(["models", "pull", "ok"], env=here.env | env)[0]
    assert (ran.status, ran.out) == (1, "")
    (line,) = ran.err.splitlines()
    assert says in line
    assert "--from FILE" in line or "HF_ENDPOINT" in line
    assert "kept" not in line, "nothing came"
    assert here.files() == []


def test_a_file_that_is_there_needs_no_hub_and_one_that_is_lost_comes_back_at_its_commit(here: Here) -> None:
    pulled = crisis(["models", "pull", "ok"], env=here.env)[0]
    assert pulled.status == 0
    again = crisis(["models", "pull", "ok"], env=here.env | {"HF_HUB_OFFLINE": "1"})[0]
    assert again.status == 0
    assert "here already" in again.out
    (here.folder / "ok.gguf").unlink()
    back = crisis(["models", "pull", "ok"], env=here.env)[0]
    assert back.status == 0
    assert f"/resolve/{COMMIT}/" in here.hub.asked("ok")[-1]["path"]


def test_a_hub_that_has_another_file_now_is_not_believed(here: Here) -> None:
    assert crisis(["models", "pull", "ok"], env=here.env)[0].status == 0
    entry = here.locked("ok.gguf")
    (here.folder / "ok.gguf").unlink()
    other = lock.Locked(**{**{name: getattr(entry, name) for name in entry.__slots__}, "sha256": "0" * 64})
    lock.record(here.folder, "ok.gguf", other)
    refused, taken = crisis(["models", "pull", "ok"], ["models", "pull", "ok", "--latest"], env=here.env)
    assert refused.status == 1
    assert "is another file than the one recorded here" in refused.err
    assert taken.status == 0
    assert here.locked("ok.gguf").sha256 == entry.sha256


def test_without_huggingface_hub_the_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(PullFailed, match=r"pip install 'crisis-support\[weights\]'"):
        pull(brought(tmp_path, repo="test/ok"), tmp_path, quietly)


# verify


def test_verify_finds_a_changed_byte_a_cut_file_a_missing_one_and_one_nobody_recorded(here: Here) -> None:
    names = ["ok", "redirect", "no-hash"]
    assert [ran.status for ran in crisis(*(["models", "pull", name] for name in names), env=here.env)] == [0, 0, 0]
    changed = here.folder / "ok.gguf"
    stat = changed.stat()
    data = bytearray(changed.read_bytes())
    data[30_000] ^= 1
    changed.write_bytes(data)
    os.utime(changed, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # nothing but a byte tells
    cut = here.folder / "redirect.gguf"
    cut.write_bytes(cut.read_bytes()[:-1])
    (here.folder / "no-hash.gguf").unlink()
    (here.folder / "down.gguf").write_bytes(content("down.gguf"))
    (here.folder / "gated.gguf").write_bytes(content("gated.gguf")[:-1])
    ran = crisis(["models", "verify", "--json"], ["models", "verify", "redirect"], env=here.env)
    assert [one.status for one in ran] == [1, 1]
    found = {verdict["model"]: verdict for verdict in json.loads(ran[0].out)}
    outcomes = {name: verdict["outcome"] for name, verdict in found.items() if name != "smollm2-135m-instruct-q4_1"}
    seen = {"ok": "damaged", "redirect": "damaged", "no-hash": "missing", "down": "unrecorded", "gated": "damaged"}
    assert outcomes == seen
    assert "SHA-256 differs" in found["ok"]["found"]
    assert "has 59,999 bytes, redirect has 60,000" in found["redirect"]["found"]
    assert "crisis models pull no-hash" in found["no-hash"]["found"]
    assert "--from" in found["down"]["found"]
    assert ran[1].out.startswith("damaged")


def test_the_service_reads_a_file_again_only_when_its_time_or_size_changed(tmp_path: Path) -> None:
    card = brought(tmp_path)
    path = adopt(card, tmp_path / "brought.gguf", tmp_path / "w", quietly).path
    stat, data = path.stat(), bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    verify(path, card)
    with pytest.raises(WeightsDamaged, match="SHA-256 differs"):
        verify(path, card, thorough=True)
    os.utime(path)
    with pytest.raises(WeightsDamaged, match="SHA-256 differs"):
        verify(path, card)


@pytest.mark.parametrize("how", ["a byte", "an end", "another file"])
def test_what_verify_says_mends_a_damaged_file_at_its_commit(here: Here, how: str) -> None:
    assert crisis(["models", "pull", "ok"], env=here.env)[0].status == 0
    path = here.folder / "ok.gguf"
    stat, data = path.stat(), bytearray(path.read_bytes())
    data[30_000] ^= 1
    path.write_bytes({"a byte": bytes(data), "an end": content("ok.gguf")[:-1], "another file": b"no model"}[how])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    told, mended, after = crisis(
        ["models", "verify", "ok"], ["models", "pull", "ok"], ["models", "verify"], env=here.env
    )
    assert "fetch it again: crisis models pull ok" in told.out
    assert mended.status == 0, mended.err
    assert "the file that was here failed its check and is replaced" in mended.out
    assert path.read_bytes() == content("ok.gguf")
    assert f"/resolve/{COMMIT}/" in here.hub.asked("ok")[-1]["path"]
    assert after.status == 0


def test_a_file_that_was_compared_with_nothing_is_never_called_genuine(here: Here) -> None:
    verify_it = ["models", "verify", "no-hash"]
    told = crisis(["models", "pull", "no-hash"], verify_it, [*verify_it, "--json"], env=here.env)
    assert [ran.status for ran in told] == [0, 0, 0]
    assert told[1].out.startswith("unchanged")
    assert "was compared with nothing" in told[1].out
    assert json.loads(told[2].out)[0]["outcome"] == "unchanged"
    digest, path = hashlib.sha256(content("no-hash.gguf")).hexdigest(), str(here.folder / "no-hash.gguf")
    given = ["models", "pull", "no-hash", "--from", path, "--sha256", digest]
    assert crisis(given, verify_it, env=here.env)[1].out.startswith("genuine")


def test_a_cut_file_that_was_recorded_once_is_found_and_replaced(here: Here) -> None:
    here.folder.mkdir()
    cut = here.folder / "ok.gguf"
    cut.write_bytes(content("ok.gguf")[:-100])
    digest = hashlib.sha256(cut.read_bytes()).hexdigest()
    entry = lock.made(cut, model="ok", sha256=digest, origin="file", against="nothing")
    lock.record(here.folder, "ok.gguf", entry)
    told, mended = crisis(["models", "verify", "ok"], ["models", "pull", "ok"], env=here.env)
    assert told.out.startswith("damaged")
    assert "bring it again: crisis models pull ok --from FILE, or fetch it: crisis models pull ok" in told.out
    assert mended.status == 0, mended.err
    assert here.locked("ok.gguf").sha256 == hashlib.sha256(content("ok.gguf")).hexdigest()


# by hand


def quietly(here: int, total: int) -> None:
    assert 0 <= here <= total


def brought(folder: Path, **more: object) -> ModelCard:
    (folder / "brought.gguf").write_bytes(content("brought"))
    known = {"name": "own", "title": "Own", "file": "own.gguf", "status": "unapproved", "reason": "x", "licence": "x"}
    return ModelCard(**{**known, **more})  # type: ignore[arg-type] # a test's own table


def test_a_file_brought_by_hand_is_copied_checked_and_recorded(tmp_path: Path) -> None:
    card = brought(tmp_path)
    done = adopt(card, tmp_path / "brought.gguf", tmp_path / "w", quietly)
    assert done.path.read_bytes() == content("brought")
    entry = lock.read(tmp_path / "w")["own.gguf"]
    assert (entry.origin, entry.checked_against, entry.repo) == ("file", "nothing", "")
    assert (tmp_path / "brought.gguf").exists()
    again = pull(card, tmp_path / "w", quietly)
    assert again.was_here


def test_a_file_already_in_its_place_is_recorded_there(tmp_path: Path) -> None:
    card = brought(tmp_path)
    (tmp_path / "brought.gguf").rename(tmp_path / "own.gguf")
    before = (tmp_path / "own.gguf").stat().st_ino
    done = adopt(card, tmp_path / "own.gguf", tmp_path, quietly)
    assert done.path.stat().st_ino == before
    assert lock.read(tmp_path)["own.gguf"].sha256 == hashlib.sha256(content("brought")).hexdigest()


@pytest.mark.parametrize("size_bytes", [0, 60_500], ids=["no size known", "within the tolerance"])
def test_a_cut_off_file_is_neither_copied_nor_recorded(tmp_path: Path, size_bytes: int) -> None:
    card = brought(tmp_path, size_bytes=size_bytes)
    (tmp_path / "brought.gguf").write_bytes(content("brought")[:-100])
    with pytest.raises(WeightsDamaged, match=r"is not a whole GGUF file.*; bring a whole one"):
        adopt(card, tmp_path / "brought.gguf", tmp_path / "w", quietly)
    assert not (tmp_path / "w").exists()


def test_a_whole_file_takes_the_place_of_a_cut_one_that_was_recorded(tmp_path: Path) -> None:
    card, folder = brought(tmp_path), tmp_path / "w"
    folder.mkdir()
    cut = folder / "own.gguf"
    cut.write_bytes(content("brought")[:-100])
    lock.record(folder, "own.gguf", lock.made(cut, model="own", sha256="1" * 64, origin="file", against="nothing"))
    assert adopt(card, tmp_path / "brought.gguf", folder, quietly).path.read_bytes() == content("brought")


def test_a_damaged_file_that_no_hub_has_is_to_be_brought_again(tmp_path: Path) -> None:
    card = brought(tmp_path)
    path = adopt(card, tmp_path / "brought.gguf", tmp_path / "w", quietly).path
    path.write_bytes(content("brought")[:-1])
    for asked in (lambda: pull(card, tmp_path / "w", quietly), lambda: verify(path, card)):
        with pytest.raises(WeightsDamaged, match="bring a whole one: crisis models pull own --from FILE"):
            asked()


@pytest.mark.parametrize("known", ["given", "catalogue", "recorded"])
def test_a_file_brought_by_hand_must_have_the_hash_that_is_known(tmp_path: Path, known: str) -> None:
    card = brought(tmp_path, **({"sha256": "1" * 64} if known == "catalogue" else {}))
    folder = tmp_path / "w"
    folder.mkdir()
    if known == "recorded":
        (folder / "own.gguf").write_bytes(b"GGUF")
        entry = lock.made(folder / "own.gguf", model="own", sha256="1" * 64, origin="hub", against="hub")
        lock.record(folder, "own.gguf", entry)
        (folder / "own.gguf").unlink()
    with pytest.raises(WeightsDamaged, match=r"SHA-256"):
        adopt(card, tmp_path / "brought.gguf", folder, quietly, sha256="1" * 64 if known == "given" else "")
    assert not (folder / "own.gguf").exists()
    assert not list(folder.glob(".*.part"))


def test_a_refused_model_is_neither_pulled_nor_taken(tmp_path: Path) -> None:
    card = brought(tmp_path, status="refused", repo="test/ok")
    with pytest.raises(ModelNotAllowed, match="is refused"):
        pull(card, tmp_path, quietly)
    with pytest.raises(ModelNotAllowed, match="is refused"):
        adopt(card, tmp_path / "brought.gguf", tmp_path, quietly)


def test_mistral_cannot_be_pulled_by_any_name(here: Here) -> None:
    for ran in crisis(["models", "pull", "mistral-7b"], ["models", "pull", "Mistral-7B-v0.1"], env=here.env):
        assert ran.status == 1
        assert "never use it for crisis support" in ran.err


# the lock itself


def test_a_damaged_lock_is_said_and_never_taken_for_an_empty_one(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"version": 1}', '{"version": 1, "files": {"a": {}}}', '{"version": 9, "files": {}}'):
        (tmp_path / "models.lock").write_text(text, encoding="utf-8")
        with pytest.raises(lock.LockError, match=r"models\.lock"):
            lock.read(tmp_path)


def test_entries_written_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from models import lock; f = Path(sys.argv[1]);"
        "p = f / sys.argv[2]; p.write_bytes(b'GGUF');"
        "lock.record(f, p.name, lock.made(p, model='m', sha256='0'*64, origin='file', against='nothing'))"
    )
    started = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), f"{number}.gguf"]) for number in range(4)]
    assert [process.wait(30) for process in started] == [0] * 4
    assert sorted(lock.read(tmp_path)) == [f"{number}.gguf" for number in range(4)]
