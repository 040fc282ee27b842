"""What libcurl is told of one exchange.

Invariants: it asks no name server, no proxy and no file of the environment; it follows nobody, unpacks nothing, and
uses a connection once.
"""

import ssl
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pycurl

from timeball.targets.http.exchange import Exchange
from timeball.targets.http.request import Request
from timeball.targets.http.url import Url

_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that are sent without a length if they have no body."""

_ALWAYS: Final = (
    (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
    (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
    (pycurl.PROXY, ""),
    (pycurl.NOSIGNAL, 1),
    (pycurl.NOPROGRESS, 0),  # what counts the bytes that come
    # A kept connection may be dead by the next call, which then fails for no fault of its target; and it could carry
    # the rest of one tenant's answer into another's.
    (pycurl.FRESH_CONNECT, 1),
    (pycurl.FORBID_REUSE, 1),
    (pycurl.SSL_SESSIONID_CACHE, 0),
    # Of what is taken at once the callbacks are called for every line: a flood of lines is to leave others their turn.
    (pycurl.BUFFERSIZE, 4 * 1024),
)


def handle_of(
    exchange: Exchange, request: Request, addresses: Sequence[str], timeout_seconds: float, trust: Path | None
) -> pycurl.Curl:
    """Return what sends a request to one of the addresses, and tells its exchange; who calls closes it.

    `trust`: a file of certificates to verify by, if not those of the system.
    """
    curl = pycurl.Curl()
    for option, value in _ALWAYS:
        curl.setopt(option, value)
    curl.setopt(pycurl.URL, request.url.origin)
    curl.setopt(pycurl.REQUEST_TARGET, request.url.request_target)  # as a part of its url libcurl would write it anew
    curl.setopt(pycurl.CUSTOMREQUEST, request.method)
    if request.body is not None or request.method not in _BODILESS:
        curl.setopt(pycurl.POSTFIELDS, request.body or b"")
    curl.setopt(pycurl.HTTPHEADER, _lines(request))
    if request.url.host not in addresses:  # it is a name
        curl.setopt(pycurl.RESOLVE, [_known(request.url, addresses)])
        curl.setopt(pycurl.RESOLVER_START_FUNCTION, _ask_nobody)
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


def _lines(request: Request) -> list[bytes]:
    """Return the lines of the headers; an empty one has to be written with a semicolon, or libcurl leaves it out."""
    lines = [f"{name}: {value}" if value.strip() else f"{name};" for name, value in request.headers.items()]
    lines.append("Expect:")
    if "content-type" not in map(str.lower, request.headers):
        lines.append("Content-Type:")  # libcurl would say that it is a form
    return [line.encode() for line in lines]


def _known(url: Url, addresses: Sequence[str]) -> str:
    """Say which addresses a host has. The plus: for a minute, and not for as long as there is a process."""
    return f"+{url.host}:{url.port}:{','.join(f'[{one}]' if ':' in one else one for one in addresses)}"


def _ask_nobody(*_: object) -> int:
    """Refuse libcurl a look-up of its own: it would be of addresses that nobody has judged."""
    return 1


@cache
def _trusted(trust: Path | None) -> Sequence[tuple[int, str | None]]:
    """Return by which options certificates are verified: by a file, or else by what the system has, says Python."""
    system = ssl.get_default_verify_paths()
    file = system.cafile if trust is None else str(trust)
    if file:
        return [(pycurl.CAINFO, file)]
    return [(pycurl.CAINFO, None), (pycurl.CAPATH, system.capath)] if system.capath else []
