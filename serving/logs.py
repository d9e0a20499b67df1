"""How the service's log is written: a line an event, as text or as JSON, with the id of the request that it belongs to.

No line holds an exception's message or a traceback, which may quote a person; no text can end a line early or colour
it; and whoever reads the log slowly, or not at all, holds up no answer.
"""

import json
import logging
import queue
import re
import threading
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being answered, "" outside of one."""

MOST_WAITING = 10_000
_FLUSH_S = 2.0
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def configure(*, level: str, form: Literal["text", "json"], stream: TextIO) -> "Writer":
    """Every logger of this process writes to the stream from now on. Close the writer at the end."""
    writer = Writer(stream)
    handler = _Handler(writer)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.raiseExceptions = False  # a line that cannot be written is lost, and nothing else
    # The HTTP clients log addresses at INFO; nothing of a request belongs in our log.
    for noisy in ("httpx", "httpcore", "httpx2", "httpcore2", "anthropic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return writer


def place(exc: BaseException) -> str:
    """Where an exception came from: its type, file and line. Never its message."""
    step = exc.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    code = "" if step is None else f" at {step.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{step.tb_lineno}"
    return f"{type(exc).__name__}{code}"


class TextLines(logging.Formatter):
    """`time LEVEL logger [request] message`, on one line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(request)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        known = request_id.get()
        record.request = f" [{known}]" if known and known not in str(record.args) else ""
        record.stack_info = record.exc_text = None
        return one_line(super().format(record))

    def formatException(self, ei: _ExcInfo) -> str:
        return "" if ei[1] is None else place(ei[1])


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, request; and what the record brings as `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": one_line(record.getMessage()),
        }
        if known := request_id.get():
            entry["request"] = known
        if record.exc_info and record.exc_info[1] is not None:
            entry["exception"] = place(record.exc_info[1])
        fields = getattr(record, "fields", None)
        return json.dumps(entry | (fields if isinstance(fields, dict) else {}), ensure_ascii=True, default=str)


def one_line(text: str) -> str:
    """The text with line ends, colours and marks of direction made visible: nobody can write a line of our log."""
    return _CONTROL.sub(lambda mark: repr(mark.group())[1:-1], text)


class Writer:
    """Writes lines from a thread of its own. Past MOST_WAITING lines are dropped, and counted in the next one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._dropped = 0
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Returns at once."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        """Waits for what is still to be written, but not for ever."""
        try:
            self._lines.put(None, timeout=_FLUSH_S)
        except queue.Full:
            return
        self._thread.join(_FLUSH_S)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            if self._dropped:
                self._put(f"{self._dropped} lines of the log were dropped: they were not read fast enough")
                self._dropped = 0
            self._put(line)

    def _put(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            if self._lines.empty():
                self._stream.flush()
        except (OSError, ValueError):  # a full disk, a closed pipe: the log is lost, the service is not
            self._dropped += 1


class _Handler(logging.Handler):
    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._writer.write(self.format(record))
        except Exception:  # noqa: BLE001 - a record that cannot be worded must not end what logged it
            self._writer.write(f"{record.levelname} {record.name} a line of the log could not be worded")
