"""The options of libcurl for one exchange.

Invariants: it asks no name server, no proxy and no file of the environment; it follows no redirect, decompresses
nothing, and uses a connection once.
"""

import ssl
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pycurl

from timeball.targets.http.exchange import Exchange
from timeball.targets.http.request import HttpRequest
from timeball.targets.http.url import Url

_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that are sent without a length if they have no body."""

_ALWAYS: Final = (
    (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
    (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
    (pycurl.PROXY, ""),
    (pycurl.NOSIGNAL, 1),
    (pycurl.NOPROGRESS, 0),  # enables the callback that counts received bytes
    # A kept connection may be dead by the next call, which then fails for no fault of its target; and it could carry
    # the rest of one tenant's answer into the exchange of another tenant.
    (pycurl.FRESH_CONNECT, 1),
    (pycurl.FORBID_REUSE, 1),
    (pycurl.SSL_SESSIONID_CACHE, 0),
    # libcurl calls back for every line of what it reads at once: a flood of lines must leave other transfers their
    # turn.
    (pycurl.BUFFERSIZE, 4 * 1024),
)


def handle_of(
    exchange: Exchange, request: HttpRequest, addresses: Sequence[str], timeout_seconds: float, trust: Path | None
) -> pycurl.Curl:
    """Return the handle that sends a request to one of the addresses, and reports to its exchange.

    The caller closes it.

    `trust`: a file of certificates to verify by, if not those of the system.
    """
    curl = pycurl.Curl()
    for option, value in _ALWAYS:
        curl.setopt(option, value)
    curl.setopt(pycurl.URL, request.url.origin)
    curl.setopt(pycurl.REQUEST_TARGET, request.url.request_target)  # as part of its url, libcurl would rewrite it
    curl.setopt(pycurl.CUSTOMREQUEST, request.method)
    if request.body is not None or request.method not in _BODILESS:
        curl.setopt(pycurl.POSTFIELDS, request.body or b"")
    curl.setopt(pycurl.HTTPHEADER, _lines(request))
    if request.url.host not in addresses:  # it is a name
        curl.setopt(pycurl.RESOLVE, [_known(request.url, addresses)])
        curl.setopt(pycurl.RESOLVER_START_FUNCTION, _refuse_to_resolve)
    curl.setopt(pycurl.CONNECTTIMEOUT_MS, int(timeout_seconds * 1000) + 1000)  # by then the call is over
    for option, callback in (
        (pycurl.OPENSOCKETFUNCTION, exchange.open_socket),
        (pycurl.PREREQFUNCTION, exchange.leave),
        (pycurl.HEADERFUNCTION, exchange.take_line),
        (pycurl.WRITEFUNCTION, exchange.take_body),
        (pycurl.XFERINFOFUNCTION, exchange.count),
    ):
        curl.setopt(option, callback)
    if request.url.scheme == "https":
        for option, value in _trusted(trust):
            curl.setopt(option, value)
    return curl


def _lines(request: HttpRequest) -> list[bytes]:
    """Return the header lines. An empty header must be written with a semicolon, or libcurl omits it."""
    lines = [f"{name}: {value}" if value.strip() else f"{name};" for name, value in request.headers.items()]
    lines.append("Expect:")
    if "content-type" not in map(str.lower, request.headers):
        lines.append("Content-Type:")  # libcurl would declare a form
    return [line.encode() for line in lines]


def _known(url: Url, addresses: Sequence[str]) -> str:
    """Return a host's addresses for libcurl. The plus limits the entry to a minute, instead of the process's life."""
    return f"+{url.host}:{url.port}:{','.join(f'[{one}]' if ':' in one else one for one in addresses)}"


def _refuse_to_resolve(*_: object) -> int:
    """Refuse libcurl a look-up of its own, whose addresses the rules would not check."""
    return 1


@cache
def _trusted(trust: Path | None) -> Sequence[tuple[int, str | None]]:
    """Return the options that verify certificates: by a file, or else by the system's, as Python finds them."""
    system = ssl.get_default_verify_paths()
    file = system.cafile if trust is None else str(trust)
    if file:
        return [(pycurl.CAINFO, file)]
    return [(pycurl.CAINFO, None), (pycurl.CAPATH, system.capath)] if system.capath else []
