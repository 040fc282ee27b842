"""Calls of ten seconds, more than the capacity of executors: the effect of weights and priorities.

`make fairness` prints the figures; test_long_calls.py holds them.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tests.simulation.contention import Contention
from tests.simulation.executors import Calls
from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import SECOND_MS

LASTS_SECONDS = 10
LOCAL = {"high": 8, "normal": 5, "low": 2}
"""The executors of the embedded AWS, on which a message names one run."""

FEW = {"high": 9, "normal": 5, "low": 3}
"""Executors whose messages name five runs."""

DUE = 10.0


def _contention(
    executors: Mapping[str, int], *, has_fair_queues: bool, weights: Mapping[str, int] | None = None
) -> Contention:
    calls = Calls(dict.fromkeys(("heavy", "light", "crowd", "one"), LASTS_SECONDS * SECOND_MS))
    return Contention(executors, weights or {}, calls, has_fair_queues=has_fair_queues)


def by_weight(
    executors: Mapping[str, int],
    *,
    has_fair_queues: bool,
    heavy: int = 5,
    each: int = 400,
    seconds: float = LASTS_SECONDS,
) -> Counter[str]:
    """Give two tenants this many calls due at one instant. Return how many have begun after the given time."""
    contention = _contention(executors, has_fair_queues=has_fair_queues, weights={"heavy": heavy, "light": 1})
    for tenant in ("heavy", "light"):
        contention.store_jobs(tenant, [DUE] * each)
    contention.play(DUE + seconds - 0.5)
    return Counter(run.job.tenant for run in contention.started)


def beside_a_crowd(executors: Mapping[str, int], *, has_fair_queues: bool, crowd: int = 700) -> list[float]:
    """Return how late (s) the runs of a job of each second are, ascending, beside this many calls of one instant."""
    contention = _contention(executors, has_fair_queues=has_fair_queues)
    contention.store_jobs("crowd", [DUE] * crowd)
    contention.store_jobs("quiet", [DUE + second for second in range(60)])
    contention.play(DUE + 65)
    return sorted(contention.lateness("quiet"))


@dataclass(frozen=True)
class Order:
    """How many runs of each priority began before the last one of `high`, how many within a second; when that was."""

    begun_before: Counter[str]
    begun_at_once: Counter[str]
    last_high: float


def by_priority(executors: Mapping[str, int], *, has_fair_queues: bool, high: int = 700) -> Order:
    """Give one tenant this many calls of `high`, 60 of `normal` and 30 of `low`, due at one instant."""
    contention = _contention(executors, has_fair_queues=has_fair_queues)
    for priority, number in ((Priority.HIGH, high), (Priority.NORMAL, 60), (Priority.LOW, 30)):
        if priority not in executors:
            continue
        contention.store_jobs("one", [DUE] * number, priority, str(priority))
    contention.play(DUE + 60)
    begun = [(at, contention.priorities[run.job]) for run, at in contention.started.items()]
    last = max(at for at, priority in begun if priority == Priority.HIGH)
    before = Counter(str(priority) for at, priority in begun if at < last)
    at_once = Counter(str(priority) for at, priority in begun if at < contention.begun_at + (DUE + 1) * SECOND_MS)
    return Order(before, at_once, (last - contention.begun_at) / SECOND_MS - DUE)


def main() -> int:
    """Print the figures."""
    for queues, executors in (("of the embedded AWS", LOCAL), ("of five runs to a message", FEW)):
        for has_fair_queues in (True, False):
            print(f"calls of 10 s, executors {queues}, {'fair queues' if has_fair_queues else 'no fair queues'}")
            begun = by_weight(executors, has_fair_queues=has_fair_queues)
            print(f"  weights 5 and 1, 400 calls each: {begun['heavy']} : {begun['light']} in ten seconds")
            late = beside_a_crowd(executors, has_fair_queues=has_fair_queues)
            print(f"  a job each second beside 700 calls: p50 {late[30]:.1f} s, p99 and max {late[-1]:.1f} s late")
            order = by_priority(executors, has_fair_queues=has_fair_queues)
            shown = ", ".join(f"{priority} {order.begun_before[priority]}" for priority in executors)
            print(f"  700 high, 60 normal, 30 low: before the last of high, {order.last_high:.1f} s late: {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
