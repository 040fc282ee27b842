"""A webhook's url, as strict as the API that accepts it, so that no other parser can read it differently.

Invariant: the host that it names is looked up and called. The rest is sent as it stands: no dots are resolved and
nothing is decoded; only characters that no url may contain are percent-encoded.
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
    """Nothing can be sent to this target; the message is a sentence."""


@dataclass(frozen=True)
class Url:
    """An absolute url. `host` is a name or an address, in lower case and without brackets; `rest` is what follows."""

    scheme: str
    host: str
    port: int
    rest: str

    @property
    def origin(self) -> str:
        """Return the scheme, the host and the port: the url without its path and query."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def request_target(self) -> str:
        """Return the request target, exactly as it is sent."""
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
