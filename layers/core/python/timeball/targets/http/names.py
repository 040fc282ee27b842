"""Finds the addresses that a host's name leads to, and lets a call go on only if all of them are open.

Name servers that are slow for one tenant's hosts hold nobody else up.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeAlias

from timeball.domain.sharing.places import PLACES
from timeball.targets.http.addresses import AddressRules

_THREADS = 2 * PLACES
"""One for each call that is under way, and as many for look-ups that their calls have not waited for."""

Lookup = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host for a port, as text; raises OSError if there are none. It may block."""

Asked: TypeAlias = "asyncio.Future[Sequence[str]]"
"""The addresses of a host, once they are found."""


def _look_up(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in infos]


class Names:
    """Whom names lead to, as somebody says who may block, and which of that is open."""

    def __init__(self, lookup: Lookup, rules: AddressRules, threads: ThreadPoolExecutor) -> None:
        self.rules = rules
        self._lookup = lookup
        self._threads = threads
        self._asked: dict[tuple[str, int], Asked] = {}

    def ask(self, host: str, port: int) -> Asked:
        """Look a name up: once for all who want to know at the same time, for a batch often calls one host."""
        if _is_address(host):
            known: Asked = asyncio.get_running_loop().create_future()
            known.set_result([host])
            return known
        asked = self._asked.get((host, port))
        if asked is None:
            asked = asyncio.get_running_loop().run_in_executor(self._threads, self._lookup, host, port)
            self._asked[host, port] = asked
            asked.add_done_callback(lambda done: self._told(host, port, done))
        return asked

    async def addresses(self, asked: Asked, port: int) -> Sequence[str]:
        """Return what was found; raises ForbiddenAddressError if a single address is not open, and OSError."""
        found = await asyncio.shield(asked)  # whose time is over leaves it to the others
        for address in found:
            self.rules.check(address, port)
        return found

    def _told(self, host: str, port: int, asked: Asked) -> None:
        del self._asked[host, port]
        if not asked.cancelled():
            asked.exception()  # or asyncio logs that of a look-up which nobody waits for any more


@contextmanager
def open_names(lookup: Lookup | None, rules: AddressRules) -> Iterator[Names]:
    """Look names up for a while; look-ups that hang at its end are left behind."""
    # Threads of our own: slow name servers of one tenant must not keep the store from its threads.
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lookup")
    try:
        yield Names(lookup or _look_up, rules, threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            return bool(socket.inet_pton(family, host))
    return False
