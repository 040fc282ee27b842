"""The address of an API with the key for it, and the import of httpx."""

import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import cast
from urllib.parse import urlsplit

from timeball.client.profiles import find_profile

TIMEOUT_SECONDS = 35.0
"""How long a client waits for an answer: a request of the API lives for 29 s."""


@dataclass(frozen=True)
class Connection:
    """The address of an API, and the key of its caller."""

    url: str
    """Without a slash at its end."""
    key: str | None = field(repr=False)
    timeout_seconds: float = TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("The URL of a Timeball is https:// and its host, as its deployment has printed it.")
        if self.key is not None and (not self.key.isascii() or not self.key.isprintable() or " " in self.key):
            raise ValueError("The API key has characters that no key has: copy it again.")


def connection_of(
    url: str | None, key: str | None, profile: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS
) -> Connection:
    """Return the connection of the given address and key, or of a profile, as `find_profile` does."""
    if url is None and key is None:
        found = find_profile(name=profile)
        url, key = found.url, found.key
    if url is None:
        raise ValueError("Give the url with the key, or neither.")
    return Connection(url.rstrip("/"), key, timeout_seconds)


def load_httpx() -> ModuleType:
    """Import httpx without its own command line, for which it would load click, rich and pygments."""
    name = "httpx._main"
    is_first = "httpx" not in sys.modules and name not in sys.modules
    if is_first:
        sys.modules[name] = cast("ModuleType", None)
    import httpx  # noqa: PLC0415 - an import of the client stays cheap

    if is_first:
        del sys.modules[name]
    return httpx
