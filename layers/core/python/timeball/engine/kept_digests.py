"""Digests of a tenant's jobs, which stand in the memory of a process and are made in pages by requests.

A request that finds no digest, or one that is older than FRESH_MS, reads the next page of jobs. Until the last page is
read, the older digest is the answer. Nothing is read while no request asks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

FRESH_MS = 30 * SECOND_MS
"""How old a digest may be before the next one is made."""
_ABANDONED_MS = 5 * MINUTE_MS
"""After which time without its next page a digest is begun anew."""


ListedAt = tuple[int, JobKey]
"""A job's position in the listing: its creation, and its key."""


class AnyDigest(Protocol):
    """A digest."""

    @property
    def at(self) -> int:
        """When its first page was read (ms)."""


DigestType = TypeVar("DigestType", bound=AnyDigest)


@dataclass
class KeptDigests(Generic[DigestType]):
    """The digest that is complete, and the one that is being made."""

    whole: DigestType | None = None
    made: DigestType | None = None
    after: ListedAt | None = None
    """The last job that the next digest has seen."""
    read_at: int = 0
    """When its last page was read (ms)."""

    def is_fresh(self, now: int) -> bool:
        """Return whether no other digest is made yet."""
        return self.whole is not None and now < self.whole.at + FRESH_MS

    def read_on(
        self,
        now: int,
        begin: Callable[[], DigestType],
        add_page: Callable[[DigestType, ListedAt | None], tuple[DigestType, ListedAt | None]],
    ) -> DigestType | None:
        """Return the newest whole digest, after one page of the next one unless it is fresh; None: it is being made.

        `add_page` returns a digest with the page of jobs after a job, and the last job of the page if more follow.
        """
        if self.is_fresh(now):
            return self.whole
        if self.made is None or now > self.read_at + _ABANDONED_MS:
            self.made, self.after = begin(), None
        made, last = add_page(self.made, self.after)
        self.made, self.after, self.read_at = made, last, now
        if last is None:
            self.whole, self.made = made, None
        return self.whole


def kept_under(digests: dict[object, Any], key: object, most: int) -> KeptDigests[Any]:
    """Return the digests that a process keeps under a key. Of others it keeps at most this many: those read last."""
    kept: KeptDigests[Any] = digests.pop(key, None) or KeptDigests()
    while len(digests) >= most:
        del digests[next(iter(digests))]
    digests[key] = kept
    return kept
