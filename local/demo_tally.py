"""Compare due instants with arrivals, as a pure function: which were lost, doubled or early, and how late."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from local.receiver import ReceivedRequest

_SUCCESS = 200


@dataclass(frozen=True)
class Due:
    """An instant (ms) at which a job was due."""

    job_id: str
    fire_at: int


@dataclass(frozen=True)
class DemoTally:
    """A group of due instants, compared with arrivals."""

    due: int
    """The number of due instants."""
    arrived: int
    """How many of them were answered with success."""
    early: int
    """Calls before their time."""
    doubled: int
    """Calls beyond those that are expected."""
    lost: int
    """Instants without success although their time is over."""
    lateness: tuple[int, ...]
    """For each first arrival, in the order of fire times, its instant minus the fire time, in ms."""

    @property
    def is_complete(self) -> bool:
        """Return whether every due instant has arrived."""
        return self.arrived == self.due

    @property
    def is_right(self) -> bool:
        """Return whether nothing was lost, doubled or early."""
        return not (self.lost or self.doubled or self.early)


def tally(due: Iterable[Due], arrivals: Iterable[ReceivedRequest], lost_before: int) -> DemoTally:
    """Tally a group; an instant before `lost_before` (ms) whose run did not succeed is lost.

    A call is doubled if its attempt was called before, if it follows a success, if its instant was not due, or if it is
    of a second run for an instant.
    """
    wanted = {*due}
    calls, stray = _by_instant(wanted, arrivals)
    arrived = {instant for instant in wanted if any(map(_succeeded, calls[instant]))}
    called = sorted((one for one in wanted if calls[one]), key=lambda one: (one.fire_at, one.job_id))
    return DemoTally(
        due=len(wanted),
        arrived=len(arrived),
        early=sum(call.at < instant.fire_at for instant in called for call in calls[instant]),
        doubled=len(stray) + sum(map(_doubled, calls.values())),
        lost=sum(instant.fire_at < lost_before for instant in wanted - arrived),
        lateness=tuple(calls[instant][0].at - instant.fire_at for instant in called),
    )


def _by_instant(
    wanted: Collection[Due], arrivals: Iterable[ReceivedRequest]
) -> tuple[Mapping[Due, list[ReceivedRequest]], list[ReceivedRequest]]:
    """Return the calls for each instant in the order of arrival, and the calls of these jobs at other instants."""
    jobs = {instant.job_id for instant in wanted}
    calls: dict[Due, list[ReceivedRequest]] = {instant: [] for instant in wanted}
    stray: list[ReceivedRequest] = []
    for arrival in sorted(arrivals, key=lambda arrival: arrival.at):
        if arrival.job_id in jobs:
            calls.get(Due(arrival.job_id, arrival.fire_at), stray).append(arrival)
    return calls, stray


def total(tallies: Iterable[DemoTally]) -> DemoTally:
    """Add tallies up."""
    parts = list(tallies)
    return DemoTally(
        due=sum(part.due for part in parts),
        arrived=sum(part.arrived for part in parts),
        early=sum(part.early for part in parts),
        doubled=sum(part.doubled for part in parts),
        lost=sum(part.lost for part in parts),
        lateness=tuple(late for part in parts for late in part.lateness),
    )


def early_retries(arrivals: Iterable[ReceivedRequest], earliest: Mapping[tuple[str, int], int]) -> int:
    """Count the calls before the earliest documented instant (ms) of their (run id, attempt)."""
    return sum(arrival.at < earliest.get((arrival.run_id, arrival.attempt), 0) for arrival in arrivals)


def percentile(values: Sequence[int], share: float) -> int | None:
    """Return the smallest value that at least this share of the values does not exceed; None without values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _succeeded(arrival: ReceivedRequest) -> bool:
    return arrival.status == _SUCCESS


def _doubled(calls: Sequence[ReceivedRequest]) -> int:
    """Count the calls for one instant, in the order of arrival, beyond those that are expected."""
    seen: Counter[int] = Counter()
    doubled = 0
    succeeded = False
    for call in calls:
        repeated = seen[call.attempt] > 0 or call.run_id != calls[0].run_id
        doubled += succeeded or repeated
        seen[call.attempt] += 1
        succeeded = succeeded or _succeeded(call)
    return doubled
