"""A webhook's url, as strict as the API that accepts it: so nobody can read it differently.

Invariant: whom it names is what is looked up and called. What follows is sent as it stands, for no dots are resolved
and nothing is decoded; only what no url may hold is percent-encoded.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]{1,253}|\[[0-9a-f.]*:[0-9a-f:.]*\])(?::(?P<port>[0-9]*))?"
    r'(?P<rest>(?:[/?][!-"$-~]*)?)',
    re.ASCII | re.IGNORECASE,
)
_LEGAL: Final = "%:/?[]@!$&'()*+,;="
_PORTS: Final = {"http": 80, "https": 443}


class UncallableError(ValueError):
    """The target is such that nothing can be sent; the message is a sentence."""


@dataclass(frozen=True)
class Url:
    """An absolute url. `host` is a name or an address, in lower case and without brackets; `rest` is what follows."""

    scheme: str
    host: str
    port: int
    rest: str

    @property
    def origin(self) -> str:
        """Who is called, and how: the url without what it asks for there."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def request_target(self) -> str:
        """What the request asks for, to the letter."""
        return self.rest if self.rest.startswith("/") else f"/{self.rest}"

    def __str__(self) -> str:
        return self.origin + self.rest


def parse_url(text: str) -> Url:
    """Return the url of a target; raises UncallableError unless it is http or https, and names a host."""
    found = _URL.fullmatch(text)
    if found is None:
        if not text.lower().startswith(("http://", "https://")):
            raise UncallableError("The target's url must begin with https:// or http://.")
        raise UncallableError("The target's url is malformed.")
    scheme = found["scheme"].lower()
    port = int(found["port"] or _PORTS[scheme])
    if not 0 < port < 65_536:
        raise UncallableError("The target's url is malformed.")
    return Url(scheme, found["host"].lower().strip("[]"), port, quote(found["rest"], safe=_LEGAL))
