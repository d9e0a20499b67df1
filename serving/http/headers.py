"""What every response says to a browser, and what a browser's request says of the page that it comes from."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from serving.http.sending import RawHeaders

Headers = Iterable[tuple[bytes, bytes]]

_PORTS = {"http": 80, "https": 443}
_CSP = b"content-security-policy"
ALWAYS: RawHeaders = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NOTHING: RawHeaders = ((_CSP, b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),)


def secured(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers with those that every response has. A response without a policy of its own may load nothing."""
    own = any(name == _CSP for name, _ in headers)
    return [*headers, *ALWAYS, *(() if own else _NOTHING)]


def host_of(headers: Headers) -> str:
    """The name that the caller believes to speak to, without its port; "" where none is given."""
    value = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


def from_elsewhere(headers: Headers, allowed: Sequence[str], *, form: bool = False) -> bool:
    """Whether a browser sends this for a page of another site that the operator has not listed.

    Browsers say so by Sec-Fetch-Site, but not to a plain http address on the network, and older ones not at all: then
    by Origin, where it is not the Host that they ask. form: a post of our own page's form, whose Origin is "null" since
    it may not tell where it comes from (referrer-policy).
    """
    told = {name: value for name, value in headers if name in (b"sec-fetch-site", b"origin", b"host")}
    origin = told.get(b"origin", b"").decode("latin-1")
    if "*" in allowed or origin in allowed:
        return False
    if site := told.get(b"sec-fetch-site"):
        return site in (b"cross-site", b"same-site")
    if not origin or (form and origin == "null"):
        return False
    here = _netloc(f"{origin.partition(':')[0]}://{told.get(b'host', b'').decode('latin-1')}")
    return here is None or _netloc(origin) != here


def _netloc(origin: str) -> tuple[str, int | None] | None:
    """Host and port. The scheme does not count: a proxy in front may have taken TLS off."""
    try:
        parts = urlsplit(origin)
        return (parts.hostname, parts.port or _PORTS.get(parts.scheme)) if parts.hostname else None
    except ValueError:
        return None
