"""Drive libcurl by the running loop: any number of transfers at once, in one thread.

Invariants: libcurl asks no name server, no proxy and no file of the environment; it follows no redirect, decompresses
nothing, and uses a connection once. A transfer for which no call waits any more is removed, and its connection closed.
"""

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import pycurl

from timeball.targets.http.addresses import Url
from timeball.targets.http.exchange import Exchange
from timeball.targets.http.request import HttpRequest

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


_idle: list[pycurl.CurlMulti] = []
"""Handles of callers that have ended: each keeps the certificates that it has loaded, which take long to read."""


@contextmanager
def open_transfers() -> Iterator["Transfers"]:
    """Open libcurl in the running loop, and leave the loop as it was."""
    multi = _idle.pop() if _idle else pycurl.CurlMulti()
    transfers = Transfers(multi)
    try:
        yield transfers
    finally:
        transfers.close()
        _idle.append(multi)


class Transfers:
    """The transfers of one loop."""

    def __init__(self, multi: pycurl.CurlMulti) -> None:
        self._multi = multi
        self._loop = asyncio.get_running_loop()
        self._ends: dict[pycurl.Curl, asyncio.Future[int]] = {}
        self._watched: dict[int, int] = {}
        self._timer: asyncio.Handle | None = None
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)  # work that an earlier caller's end has left

    async def perform(self, curl: pycurl.Curl) -> int:
        """Do a transfer, and return libcurl's code of its end."""
        self._multi.add_handle(curl)
        end = self._ends[curl] = self._loop.create_future()
        try:
            code: int = await end
            return code
        finally:
            self._take_off(curl)

    def close(self) -> None:
        """End all transfers, close connections that still end TLS, and watch no sockets any more."""
        for curl, end in list(self._ends.items()):
            self._take_off(curl)
            end.cancel()
        self._multi.perform()
        self._set_timer(-1)
        for descriptor in list(self._watched):
            self._watch(pycurl.POLL_REMOVE, descriptor)

    def _take_off(self, curl: pycurl.Curl) -> None:
        if self._ends.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def _watch(self, what: int, descriptor: int, *_: object) -> None:
        """Watch a socket for the events that libcurl waits for."""
        wanted = 0 if what == pycurl.POLL_REMOVE else what
        before = self._watched.pop(descriptor, 0)
        if wanted:
            self._watched[descriptor] = wanted
        for bit, event, add, remove in (
            (pycurl.POLL_IN, pycurl.CSELECT_IN, self._loop.add_reader, self._loop.remove_reader),
            (pycurl.POLL_OUT, pycurl.CSELECT_OUT, self._loop.add_writer, self._loop.remove_writer),
        ):
            if wanted & bit and not before & bit:
                add(descriptor, self._act, descriptor, event)
            elif before & bit and not wanted & bit:
                remove(descriptor)

    def _set_timer(self, ms: int) -> None:
        """Wake libcurl after so many ms; -1: never."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if ms >= 0:
            self._timer = self._loop.call_later(ms / 1000, self._act, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, descriptor: int, event: int) -> None:
        """Let libcurl do what can be done now, and end the transfers that are complete."""
        self._multi.socket_action(descriptor, event)
        left = 1
        while left:
            left, done, failed = self._multi.info_read()
            for curl in done:
                self._end(curl, pycurl.E_OK)
            for curl, code, _ in failed:
                self._end(curl, code)

    def _end(self, curl: pycurl.Curl, code: int) -> None:
        end = self._ends.get(curl)
        if end is not None and not end.done():
            end.set_result(code)
