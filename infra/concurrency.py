"""How a deployment divides the account's concurrency: the number of functions at a time, of all kinds together.

Invariant: the bounds of all functions that queues feed, successors, scans and one request of the API fit into it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_NORMAL, _LOW = 35, 5
"""Percentages of all executors; `high` gets the rest."""

MOST_SUCCESSORS = 10
"""About how many executors of a priority have successors: ten have a thousand slots, and one suffices for most."""

_OVERLAPPING = 6
"""The most groups of successors at a time: two of each priority may overlap."""

FEWEST_AT_ONCE, MOST_AT_ONCE = 2, 1_000
"""The bounds that AWS accepts for a queue's mapping without pollers; the first is also the fewest pollers."""

BATCHES_OF_A_POLLER = 10
"""The most batches that a provisioned poller has under way."""

MOST_READY = 200
"""The most pollers of a mapping that AWS keeps ready; it may scale to more."""

NOTICED = 3
"""Executors that hold thirty messages between them: above this many of one tenant, SQS prefers others."""

_MOST_EVENTS = 10
"""The most functions at a time that create runs of events, if the account allows as many."""

_SCANS_OF_A_PARTITION = 2
"""One of the old loop and one of the new loop."""

_OF_A_REQUEST = 2
"""The authorizer and the API's function."""


def shares(whole_number: int) -> dict[str, int]:
    """Divide executors, or their pollers, among the priorities; no priority can take another's share."""
    low, normal = (max(FEWEST_AT_ONCE, whole_number * share // 100) for share in (_LOW, _NORMAL))
    return {"high": max(FEWEST_AT_ONCE, whole_number - normal - low), "normal": normal, "low": low}


@dataclass(frozen=True)
class Concurrency:
    """The account's concurrency, the bound of each priority's executors, and the number of scanned partitions."""

    account: int
    executors: Mapping[str, int]
    partitions: int

    @property
    def _spare(self) -> int:
        return self.account - sum(self.executors.values())

    @property
    def successors(self) -> int:
        """Return about how many executors of a priority have successors: half of what executors leave."""
        return max(0, min(MOST_SUCCESSORS, self._spare // 2 // _OVERLAPPING))

    @property
    def events(self) -> int:
        """Return how many functions create runs of events at a time: a tenth of what executors leave."""
        return max(FEWEST_AT_ONCE, min(_MOST_EVENTS, self._spare // 10))

    @property
    def at_once(self) -> dict[str, int]:
        """Return the most functions of each kind at a time."""
        return {
            "executors": sum(self.executors.values()),
            "successors": _OVERLAPPING * self.successors,
            "for events": self.events,
            "to watch": FEWEST_AT_ONCE,
            "scans": _SCANS_OF_A_PARTITION * self.partitions,
            "for a request": _OF_A_REQUEST,
        }

    @property
    def overcommitment(self) -> str | None:
        """Return an error if all of it exceeds the account's concurrency; None if it fits."""
        needed = sum(self.at_once.values())
        if needed <= self.account:
            return None
        counts = ", ".join(f"{count} {kind}" for kind, count in self.at_once.items())
        return (
            f"account_concurrency must be at least {needed}: {counts}. New accounts often have 10. More cost nothing: "
            "`aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 "
            "--desired-value 1000`"
        )
