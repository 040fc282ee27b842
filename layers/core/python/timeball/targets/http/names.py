"""Finds the addresses that a host's name leads to, and lets a call go on only if all of them are open.

Name servers that are slow for one tenant's hosts hold nobody else up.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from timeball.domain.sharing.places import PLACES
from timeball.targets.http.addresses import AddressRules

_THREADS = 2 * PLACES
"""One for each call that is under way, and as many for look-ups that their calls have not waited for."""

Lookup = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host for a port, as text; raises OSError if there are none. It may block."""


def _look_up(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in infos]


class Names:
    """Whom names lead to, as somebody says who may block, and which of that is open."""

    def __init__(self, lookup: Lookup, rules: AddressRules, threads: ThreadPoolExecutor) -> None:
        self.rules = rules
        self._lookup = lookup
        self._threads = threads
        self._asked: dict[tuple[str, int], asyncio.Future[Sequence[str]]] = {}

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; raises ForbiddenAddressError if a single one is not open, and OSError."""
        found = [host] if _is_address(host) else await self._look_up(host, port)
        for address in found:
            self.rules.check(address, port)
        return found

    async def _look_up(self, host: str, port: int) -> Sequence[str]:
        """Look a name up once for all who want to know at the same time: a batch often calls one host."""
        asked = self._asked.get((host, port))
        if asked is None:
            asked = asyncio.get_running_loop().run_in_executor(self._threads, self._lookup, host, port)
            self._asked[host, port] = asked
            asked.add_done_callback(lambda _: self._asked.pop((host, port)))
        return await asyncio.shield(asked)  # whose time is over leaves it to the others


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
