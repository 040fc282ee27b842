"""Finds the addresses that a host's name leads to, and lets a call go on only if all of them are open.

Invariant: a look-up begins only if its tenant holds fewer threads than are free. So name servers that are slow for one
tenant's hosts hold no other tenant up, although a look-up outlives its call: no thread can be stopped. How long it may
take says the system's resolver, by what the stack tells executors.
"""

import asyncio
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from timeball.domain.sharing.fairness import next_in_share
from timeball.domain.sharing.places import PLACES
from timeball.targets.http.addresses import AddressRules

_THREADS = 2 * PLACES
"""Twice as many as calls are under way: one tenant's look-ups take half of them at the most."""

Lookup = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host for a port, as text; raises OSError if there are none. It may block."""

Asked: TypeAlias = "asyncio.Future[Sequence[str]]"
"""The addresses of a host, once they are found."""


@dataclass(frozen=True)
class _Question:
    """Where a tenant's call leads. Tenants ask apart: a look-up may have to wait behind many others of its tenant."""

    tenant: str
    host: str
    port: int


def _look_up(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in infos]


class Names:
    """Whom names lead to, as somebody says who may block, and which of that is open."""

    def __init__(self, lookup: Lookup, rules: AddressRules, threads: ThreadPoolExecutor) -> None:
        self.rules = rules
        self._lookup = lookup
        self._threads = threads
        self._asked: dict[_Question, Asked] = {}
        self._waiting: dict[str, deque[_Question]] = {}
        self._held: Counter[str] = Counter()

    def ask(self, tenant: str, host: str, port: int) -> Asked:
        """Look a name up: once for all calls of a tenant at the same time, for a batch often calls one host."""
        question = _Question(tenant, host, port)
        asked = self._asked.get(question)
        if asked is not None:
            return asked
        asked = asyncio.get_running_loop().create_future()
        if is_address(host):
            asked.set_result([host])
            return asked
        self._asked[question] = asked
        self._waiting.setdefault(tenant, deque()).append(question)
        self._begin()
        return asked

    async def addresses(self, asked: Asked, port: int) -> Sequence[str]:
        """Return what was found; raises ForbiddenAddressError if a single address is not open, and OSError."""
        found = await asyncio.shield(asked)  # whose time is over leaves it to the others
        for address in found:
            self.rules.check(address, port)
        return found

    def close(self) -> None:
        """Begin no look-up any more."""
        self._waiting.clear()

    def _begin(self) -> None:
        """Begin the look-ups for which there are threads: a tenant takes none of the last ones from the others."""
        while (tenant := next_in_share(self._waiting, self._held, _THREADS - self._held.total())) is not None:
            question = self._waiting[tenant].popleft()
            if not self._waiting[tenant]:
                del self._waiting[tenant]
            self._held[tenant] += 1
            loop = asyncio.get_running_loop()
            found = loop.run_in_executor(self._threads, self._lookup, question.host, question.port)
            found.add_done_callback(partial(self._end, question))

    def _end(self, question: _Question, found: Asked) -> None:
        """Hand on what a look-up came to, and begin the next one."""
        self._held[question.tenant] -= 1
        asked = self._asked.pop(question)
        if found.cancelled():
            asked.cancel()
        elif (error := found.exception()) is None:
            asked.set_result(found.result())
        else:
            asked.set_exception(error)
            asked.exception()  # or asyncio logs that of a look-up which no call waits for any more
        self._begin()


@contextmanager
def open_names(lookup: Lookup | None, rules: AddressRules) -> Iterator[Names]:
    """Look names up for a while; look-ups that hang at its end are left behind."""
    # Threads of our own: slow name servers of one tenant must not keep the store from its threads.
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lookup")
    names = Names(lookup or _look_up, rules, threads)
    try:
        yield names
    finally:
        names.close()
        threads.shutdown(wait=False, cancel_futures=True)


def is_address(host: str) -> bool:
    """Say whether a host is an address and no name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            return bool(socket.inet_pton(family, host))
    return False
