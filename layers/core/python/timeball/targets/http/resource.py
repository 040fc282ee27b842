"""Which resource a webhook calls, as the circuit breaker counts: a host, and its port unless the scheme implies it."""

from urllib.parse import urlsplit

from timeball.domain.model.work import Work

_PORTS = {"http": 80, "https": 443}
_LONGEST_NAME = 253
"""Of a host, in characters (RFC 1035); no longer one is ever resolved, and a key must stay short."""


def host_of(work: Work) -> str | None:
    """Return the host that work calls; None if that is no host."""
    try:
        url = urlsplit(work.target.url)
        name, port = url.hostname, url.port
    except ValueError:
        return None
    if not name or len(name) > _LONGEST_NAME:
        return None
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, _PORTS.get(url.scheme)) else f"{name}:{port}"
