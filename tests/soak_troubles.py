"""What befalls a running service: its engine is killed or hangs, its settings change or break, its disk is full."""

import random
import resource
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from running import Running

CHAIN = (
    """
[[chain]]
engine = "llama_cpp"
name = "demo"
model = "smollm2-135m-instruct-q4_1"
context = {context}
threads = 1
stall_s = 5.0
start_timeout_s = 60.0
deadlines = {{ first_text_s = 6.0, between_s = 4.0 }}
""",
    """
[[chain]]
engine = "openai"
name = "one"
model = "qwen2.5-7b-instruct-q4_k_m"
url = "{url}/v1"
served_as = "m/one"
prefill = "assistant"
""",
    """
[[chain]]
engine = "claude"
name = "two"
model = "claude-haiku-4-5/two"
enabled = true
base_url = "{url}"
""",
)
HEAD = """
allow_unapproved = true
[server]
max_concurrent = 12
per_minute = 0
[reply]
default_country = "US"
gospel = "{gospel}"
max_tokens_chat = {tokens}
[records]
folder = "{folder}"
audit = true
"""


@dataclass(eq=False)
class Troubles(threading.Thread):
    """One after another until `enough`; `count` says how often each came. Leaves everything well."""

    running: Running
    folder: Path
    provider: str
    luck: random.Random
    enough: threading.Event
    count: Counter[str] = field(default_factory=Counter)
    missing: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def run(self) -> None:
        troubles: tuple[Callable[[], str], ...] = (
            self._engine_killed,
            self._engine_killed,
            self._engine_hangs,
            self._other_settings,
            self._other_settings,
            self._broken_settings,
            self._no_file_can_grow,
            self._disk_full,
        )
        while not self.enough.wait(self.luck.uniform(0.5, 4.0)):
            self.count[self.luck.choice(troubles)()] += 1
            with suppress(httpx.HTTPError):  # what it shows costs memory and time too
                httpx.get(f"{self.running.url}/metrics", timeout=20)
        self.other(self._settings(0))

    def _engine_killed(self) -> str:
        return self._signalled(signal.SIGKILL, "engine killed")

    def _engine_hangs(self) -> str:
        return self._signalled(signal.SIGSTOP, "engine hung")

    def _signalled(self, sent: signal.Signals, what: str) -> str:
        workers = self.running.workers()
        if not workers:
            return "no engine to be killed"
        with suppress(psutil.Error):
            self.luck.choice(workers).send_signal(sent)
        return what

    def _other_settings(self) -> str:
        self.other(self._settings(self.luck.randint(0, 5)))
        return "settings changed (SIGHUP)"

    def _broken_settings(self) -> str:
        self.other("this is [no TOML")
        return "settings broken (SIGHUP)"

    def other(self, text: str) -> None:
        (self.folder / "crisis.toml").write_text(text, encoding="utf-8")
        self.running.process.send_signal(signal.SIGHUP)

    def _settings(self, which: int) -> str:
        """One of six: other words, another order, and a context for which the engine has to be loaded anew."""
        return settings(self.folder, self.provider, which)

    def _no_file_can_grow(self) -> str:
        """The size of every file is limited to nothing: what a full disk is like, without any right to fill one."""
        if not hasattr(resource, "prlimit"):
            self.missing.add("prlimit: no limit can be set for another process here")
            return "left out"
        pid = self.running.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
        self.enough.wait(self.luck.uniform(2.0, 9.0))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        return "no file can grow (EFBIG)"

    def _disk_full(self) -> str:
        """The audit file is on a device that is always full."""
        if not Path("/dev/full").exists():
            self.missing.add("/dev/full: there is none here")
            return "left out"
        file, aside = self.folder / "records" / "audit.jsonl", self.folder / "records" / "aside"
        with suppress(FileNotFoundError):
            file.rename(aside)
        file.symlink_to("/dev/full")
        self.enough.wait(self.luck.uniform(6.0, 9.0))
        file.unlink()
        with suppress(FileNotFoundError):
            aside.rename(file)
        return "disk full (ENOSPC)"


def settings(folder: Path, provider: str, which: int) -> str:
    """The settings file of that number, 0 to 5."""
    gospel, tokens = ("always", "invited")[which % 2], (48, 64, 48)[which % 3]
    demo, one, two = CHAIN
    demo = demo.format(context=2048 if which < 4 else 1536)
    chain = (demo, one, two) if which % 3 < 2 else (one, demo, two)
    return HEAD.format(gospel=gospel, tokens=tokens, folder=folder / "records") + "".join(chain).replace(
        "{url}", provider
    )
