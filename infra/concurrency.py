"""How a deployment shares out what an account may run at once: so many functions at a time, of all kinds together.

Invariant: the bounds of all that queues feed, their successors, the scans and a request of the API fit into it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_NORMAL, _LOW = 35, 5
"""Percent of all executors; `high` has the rest."""

MOST_SUCCESSORS = 10
"""About how many executors of a priority have successors: ten have a thousand places, and one is enough for most."""

_OVERLAPPING = 6
"""How many such groups there are at the most: of a priority two may overlap."""

FEWEST_AT_ONCE, MOST_AT_ONCE = 2, 1_000
"""What AWS takes as the bound of a queue's mapping without pollers; and the fewest pollers of one that has some."""

BATCHES_OF_A_POLLER = 10
"""How many batches a provisioned poller has under way at the most."""

MOST_READY = 200
"""How many pollers of a mapping AWS lets stand ready at the most; it may have more."""

NOTICED = 3
"""Executors that hold thirty messages between them: from so many of a tenant on, SQS lets others go first."""

_MOST_EVENTS = 10
"""How many functions make runs of events at a time, where an account bears as many."""

_SCANS_OF_A_PARTITION = 2
"""One of the old loop and one of the new."""

_OF_A_REQUEST = 2
"""The authorizer and the API's function."""


def shares(whole_number: int) -> dict[str, int]:
    """Share out executors, or their pollers, among the priorities: shares that no other priority can take."""
    low, normal = (max(FEWEST_AT_ONCE, whole_number * share // 100) for share in (_LOW, _NORMAL))
    return {"high": max(FEWEST_AT_ONCE, whole_number - normal - low), "normal": normal, "low": low}


@dataclass(frozen=True)
class Concurrency:
    """What an account may run at once, the bound of each priority's executors, and how many partitions are scanned."""

    account: int
    executors: Mapping[str, int]
    partitions: int

    @property
    def _spare(self) -> int:
        return self.account - sum(self.executors.values())

    @property
    def successors(self) -> int:
        """Return about how many executors of a priority have successors: they get half of what executors leave."""
        return max(0, min(MOST_SUCCESSORS, self._spare // 2 // _OVERLAPPING))

    @property
    def events(self) -> int:
        """Return how many functions make runs of events at a time: they get a tenth of what executors leave."""
        return max(FEWEST_AT_ONCE, min(_MOST_EVENTS, self._spare // 10))

    @property
    def at_once(self) -> dict[str, int]:
        """Return how many functions of each kind may be at work at a time."""
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
        """Say what would take more than the account has; None: all of it fits."""
        needed = sum(self.at_once.values())
        if needed <= self.account:
            return None
        told = ", ".join(f"{count} {kind}" for kind, count in self.at_once.items())
        return (
            f"account_concurrency must be at least {needed}: {told}. New accounts often have 10. More cost nothing: "
            "`aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 "
            "--desired-value 1000`"
        )
