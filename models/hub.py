"""One file of a Hugging Face hub: what it is, and its bytes. Everything that can go wrong there ends as a PullFailed.

The requests are huggingface_hub's, so HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and proxies work as everywhere. It is
loaded late, without its telemetry (it would ask the hub for one more thing first) and over plain HTTP: xet keeps no
part of a download that was broken off.
"""

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import IO, Any
from urllib.parse import urlsplit

from models.catalogue import ModelCard, ModelError

Progress = Callable[[int, int], None]  # bytes that are here, bytes of the whole file

_SHA256 = re.compile("[0-9a-f]{64}")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PullFailed(ModelError):
    """The file could not be had. The message is one line: what, why, how to mend it."""


@dataclass(frozen=True, slots=True)
class Remote:
    """What the hub says of a file before a byte of it is fetched. sha256 is empty where it gives none."""

    url: str
    size_bytes: int
    sha256: str
    revision: str


def ask(card: ModelCard, revision: str) -> Remote:
    """The hub's own metadata (a HEAD request): commit, size, and for large files the SHA-256."""
    hub = _hub()
    url = hub.hf_hub_url(card.repo, card.file, revision=revision)
    told = hub.get_hf_file_metadata(url)
    if told.commit_hash is None or told.size is None:
        raise PullFailed(f"{_host()} does not answer like a Hugging Face hub: no commit or no size; check HF_ENDPOINT")
    etag = told.etag if told.etag and _SHA256.fullmatch(told.etag) else ""
    return Remote(told.location or url, told.size, etag, told.commit_hash)


def download(remote: Remote, file: IO[bytes], resumed: int, progress: Progress) -> None:
    """Append the bytes from `resumed` on. Short interruptions are tried again here; where a server cannot resume, the
    file begins anew."""
    from huggingface_hub.file_download import http_get

    class Bar:
        """What huggingface_hub takes for a tqdm bar."""

        def __init__(self, **_: Any) -> None:
            self._here = resumed
            progress(resumed, remote.size_bytes)

        def update(self, count: int) -> None:
            self._here += count
            progress(self._here, remote.size_bytes)

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None: ...

    bar: Any = Bar
    sink: Any = file
    file.seek(resumed)
    http_get(
        remote.url,
        sink,
        resume_size=resumed,
        headers=_headers(remote.url),
        expected_size=remote.size_bytes,
        tqdm_class=bar,
    )


@contextlib.contextmanager
def named_faults(card: ModelCard, *, kept: Callable[[], bool]) -> Iterator[None]:
    """Every way in which hub, network and disk fail, as one line each. kept: whether anything is here to go on from."""
    hub = _hub()
    import httpx2  # what huggingface_hub speaks through

    try:
        yield
    except ModelError:
        raise
    except hub.errors.OfflineModeIsEnabled as exc:
        raise PullFailed(
            f"{card.name}: HF_HUB_OFFLINE is set; unset it, or bring the file and use --from FILE"
        ) from exc
    except hub.errors.HfHubHTTPError as exc:
        raise PullFailed(_answered(card, exc)) from exc
    except (ValueError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as exc:
        raise PullFailed(f"{card.name}: {hub.constants.ENDPOINT} is no hub's address; check HF_ENDPOINT") from exc
    except (httpx2.HTTPError, ConnectionError, TimeoutError) as exc:
        so_far = "what came so far is kept: " if kept() else ""
        raise PullFailed(
            f"{card.name}: no connection to {_host()} ({type(exc).__name__}); {so_far}pull again, "
            "or bring the file and use --from FILE"
        ) from exc
    except OSError as exc:
        raise PullFailed(_disk(card, exc, so_far=", it goes on where it stopped" if kept() else "")) from exc


def _answered(card: ModelCard, error: Any) -> str:
    status, errors = error.response.status_code, _hub().errors
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{card.name}: the recorded commit is gone from {card.repo}; take the newest with --latest"
    if isinstance(error, errors.RemoteEntryNotFoundError) or status == 404:
        return f"{card.name}: {card.repo} on {_host()} has no {card.file}; check repo and file in its catalogue entry"
    if status in (401, 403):
        return (
            f"{card.name}: {card.repo} asks for permission, or is not there; accept its terms on the page of "
            f"{card.repo} at {_host()} and set HF_TOKEN to your token"
        )
    return f"{card.name}: {_host()} answered with status {status}; try again later"


def _disk(card: ModelCard, error: OSError, *, so_far: str) -> str:
    if error.errno in _FULL:
        return f"{card.name}: the disk is full; make room and pull again{so_far}"
    if error.errno is None:  # huggingface_hub's own check
        return f"{card.name}: fewer or more bytes came than the hub promised; pull again"
    return f"{card.name}: {error.filename or 'the file'} cannot be written: {error.strerror}"


def _headers(url: str) -> dict[str, str]:
    """The hub's usual headers; a token goes to the hub only, never to the storage that it sends us to."""
    headers: dict[str, str] = _hub().utils.build_hf_headers(library_name="crisis-support")
    if urlsplit(url).netloc != _host():
        headers.pop("authorization", None)
    return headers


def _host() -> str:
    return str(urlsplit(_hub().constants.ENDPOINT).netloc)


def _hub() -> ModuleType:
    _require_address(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError as exc:
        raise PullFailed("pulling needs huggingface_hub: pip install 'crisis-support[weights]'") from exc
    quiet: Any = huggingface_hub.utils.logging.set_verbosity_error
    quiet()
    return huggingface_hub


def _require_address(endpoint: str) -> None:
    """Before the library is loaded: it takes HF_ENDPOINT apart while it is, and fails in ways of its own."""
    try:
        parts = urlsplit(endpoint)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        right = False
    if not right or not endpoint.isprintable() or " " in endpoint:
        raise PullFailed(f"{endpoint!r} is no hub's address; check HF_ENDPOINT, or unset it")
