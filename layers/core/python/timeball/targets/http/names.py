"""Find the addresses of a host's name, and let a call continue only if all of them are open.

Invariant: a look-up begins only if its tenant holds fewer threads than are free. So slow name servers of one tenant's
hosts delay no other tenant, although a look-up outlives its call: no thread can be stopped. The system's resolver
decides how long it may take, by the options that the stack gives the executors.
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

from timeball.domain.sharing.capacity import CAPACITY
from timeball.domain.sharing.fairness import next_in_share
from timeball.targets.http.addresses import AddressRules

_THREADS = 2 * CAPACITY
"""Twice the number of calls under way: one tenant's look-ups take half of them at the most."""

Lookup = Callable[[str, int], Sequence[str]]
"""Return the addresses of a host for a port, as text; raises OSError if there are none. It may block."""

Asked: TypeAlias = "asyncio.Future[Sequence[str]]"
"""The addresses of a host, once they are found."""


@dataclass(frozen=True)
class _Question:
    """The name that a tenant's call needs. Tenants do not share look-ups, which wait for others of their tenant."""

    tenant: str
    host: str
    port: int


def _look_up(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in infos]


class Names:
    """Look-ups of names by a function that may block, and the rules for their addresses."""

    def __init__(self, lookup: Lookup, rules: AddressRules, threads: ThreadPoolExecutor) -> None:
        self.rules = rules
        self._lookup = lookup
        self._threads = threads
        self._asked: dict[_Question, Asked] = {}
        self._waiting: dict[str, deque[_Question]] = {}
        self._held: Counter[str] = Counter()

    def ask(self, tenant: str, host: str, port: int) -> Asked:
        """Look a name up: once for all calls of a tenant at the same time, as a batch often calls one host."""
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
        """Return the addresses found; raises ForbiddenAddressError if a single one is not open, and OSError."""
        found = await asyncio.shield(asked)  # a call that ends leaves the look-up to the others
        for address in found:
            self.rules.check(address, port)
        return found

    def close(self) -> None:
        """Begin no more look-ups."""
        self._waiting.clear()

    def _begin(self) -> None:
        """Begin the look-ups for which there are threads: no tenant takes the last threads from the others."""
        while (tenant := next_in_share(self._waiting, self._held, _THREADS - self._held.total())) is not None:
            question = self._waiting[tenant].popleft()
            if not self._waiting[tenant]:
                del self._waiting[tenant]
            self._held[tenant] += 1
            loop = asyncio.get_running_loop()
            found = loop.run_in_executor(self._threads, self._lookup, question.host, question.port)
            found.add_done_callback(partial(self._end, question))

    def _end(self, question: _Question, found: Asked) -> None:
        """Pass on the result of a look-up, and begin the next one."""
        self._held[question.tenant] -= 1
        asked = self._asked.pop(question)
        if found.cancelled():
            asked.cancel()
        elif (error := found.exception()) is None:
            asked.set_result(found.result())
        else:
            asked.set_exception(error)
            asked.exception()  # or asyncio logs the error of a look-up for which no call waits any more
        self._begin()


@contextmanager
def open_names(lookup: Lookup | None, rules: AddressRules) -> Iterator[Names]:
    """Open look-ups of names; those that hang at the end are left behind."""
    # Use separate threads: slow name servers of one tenant must not take the store's threads.
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lookup")
    names = Names(lookup or _look_up, rules, threads)
    try:
        yield names
    finally:
        names.close()
        threads.shutdown(wait=False, cancel_futures=True)


def is_address(host: str) -> bool:
    """Return whether a host is an address, not a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            return bool(socket.inet_pton(family, host))
    return False
