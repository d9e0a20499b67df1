"""The part of an address after its question mark."""

from urllib.parse import parse_qs

from starlette.types import Scope


def query(scope: Scope, name: str) -> str | None:
    """The last value of a query parameter; None where it is not given or there are too many to look through."""
    try:
        values = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=64).get(name)
    except ValueError:
        return None
    return values[-1] if values else None
