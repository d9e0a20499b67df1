"""Who may ask what, and how often: the first thing that happens to a request, before anything of it is read.

Nobody is turned away without resources, and a person's message over the limit is still answered (Visit.limited).
"""

from serving.http.auth import Keys
from serving.http.errors import Problem
from serving.http.headers import from_elsewhere, host_of
from serving.http.limits import Limits
from serving.http.sending import RawHeaders
from serving.http.service import HttpOptions
from serving.http.visit import Visit
from serving.keys import ApiKey, KeyFile, KeyScope

# Open without a key: an orchestrator's questions, and the page, which asks for the key itself.
OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/page.css", "/page.js", "/icon.svg"})
_NEEDS: dict[str, KeyScope] = {"/metrics": "metrics", "/crisis/report": "admin"}
ANSWERED = frozenset({"/crisis/respond", "/v1/chat/completions"})
TOOLS = frozenset({"/crisis/assess", "/crisis/filter"})

_UNAUTHORIZED = "An API key is needed: send 'Authorization: Bearer KEY' or 'X-API-Key: KEY' with a known key."
_FORBIDDEN = "This API key may not do this: it needs the scope {scope!r} (crisis keys list)."
_ELSEWHERE = "A web page of another site sent this. List its origin in server.cors_origins to let it."
_HOST = "The service does not go by this name. Add the Host that you use to server.allowed_hosts."
_TOO_MANY = "More requests in a minute than this key may make. Wait {seconds} s, or have its per_minute raised."
_CHALLENGE: RawHeaders = ((b"www-authenticate", b'Bearer realm="crisis-support"'),)
Headers = list[tuple[bytes, bytes]]


class Gatekeeper:
    """One per app. Raises KeysError when the file of keys cannot be read at the start."""

    def __init__(self, options: HttpOptions) -> None:
        self.keys = Keys(options.api_keys, KeyFile(options.keys_file) if options.keys_file else None)
        self._hosts = frozenset(host.lower() for host in options.hosts)
        self._origins = options.cors_origins
        self._limits = Limits(options.per_minute)

    def admit(self, method: str, path: str, headers: Headers, visit: Visit) -> None:
        """Lets the request in, or raises Problem 401, 403, 421 or 429."""
        if self._hosts and not self._hosts & {host_of(headers), "*"}:
            raise Problem(421, _HOST)
        if method == "POST" and from_elsewhere(headers, self._origins, form=path == "/"):
            raise Problem(403, _ELSEWHERE)
        if not self.keys.required:
            visit.admin = True
            return
        key = self.keys.find(headers)
        if path in OPEN_PATHS:
            visit.admin = key is not None and key.may("admin")
            return
        scope = _NEEDS.get(path, "respond")
        if key is None:
            raise Problem(401, _UNAUTHORIZED, headers=_CHALLENGE)
        if not key.may(scope):
            raise Problem(403, _FORBIDDEN.format(scope=scope))
        self._count(key, path, visit)

    def admit_form(self, sent: str, visit: Visit) -> bool:
        """Whether the key of the page's form lets a message in; over its limit it does (Visit.limited)."""
        key = self.keys.known(sent.encode("utf-8", "replace")) if self.keys.required else None
        if key is not None and key.may("respond"):
            visit.key, visit.limited = key.name, self._limits.over(key.name, key.per_minute) > 0
            return True
        return not self.keys.required

    def _count(self, key: ApiKey, path: str, visit: Visit) -> None:
        visit.key, visit.admin = key.name, key.may("admin")
        if path not in ANSWERED | TOOLS:
            return
        wait_s = self._limits.over(key.name, key.per_minute)
        visit.limited = wait_s > 0
        if wait_s and path in TOOLS:
            retry = ((b"retry-after", str(wait_s).encode()),)
            raise Problem(429, _TOO_MANY.format(seconds=wait_s), headers=retry)
