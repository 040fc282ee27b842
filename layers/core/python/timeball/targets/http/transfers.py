"""Drive libcurl by the running loop: any number of transfers at once, in one thread.

Invariant: a transfer for which no call waits any more is removed, and its connection closed.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pycurl

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
