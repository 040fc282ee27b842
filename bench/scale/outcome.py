"""Play a case, and compare its runs with the expected ones."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from bench.scale.cases import BEGINS_AT, Case, stored_by
from bench.scale.limits import PARTITION_WRITES, POLLER_HOUR_DOLLARS
from bench.scale.stack import Stack
from timeball.domain.model.ids import RunId
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.usage.bill import PRICES

MILLION = 1_000_000


@dataclass(frozen=True)
class Outcome:
    """A case, the stack that played it, the sorted lateness (ms) of its runs, and its errors."""

    case: Case
    stack: Stack
    late: list[int]
    lost: int
    doubled: int
    early: int

    def late_at(self, share: float) -> int:
        """Return how late (ms) this share of the runs was at most."""
        return self.late[min(len(self.late) - 1, int(share * len(self.late)))]

    def steps(self) -> Mapping[str, Mapping[str, int]]:
        """Return when (ms) half of all runs had passed each step, relative to their instants; also for the last 1 %."""
        trace = self.stack.trace
        runs = trace.late()
        latest = runs[int(0.99 * len(runs)) :]
        return {"all": trace.beside_the_instant(runs), "latest": trace.beside_the_instant(latest)}

    @property
    def is_kept(self) -> bool:
        """Return whether the promise holds: within a second at the 99th percentile, none lost, doubled or early."""
        return self.late_at(0.99) <= SECOND_MS and not self.lost + self.doubled + self.early

    def sent_a_second(self) -> float:
        """Return how many runs a second of a spike were sent, from the tick that found them to the last message."""
        sent = self.stack.trace.when("sent")
        return len(sent) * SECOND_MS / (max(sent) - (self.case.first_at - self.stack.rules.lookahead_ms))

    def late_by_second(self) -> dict[int, int]:
        """Return how late (ms) 99 of 100 runs of each second were at most, by seconds from the first fire."""
        late: defaultdict[int, list[int]] = defaultdict(list)
        for run, calls in self.stack.trace.calls.items():
            late[(run.fire_at - self.case.first_at) // SECOND_MS].append(calls[0] - run.fire_at)
        return {second: sorted(ones)[int(0.99 * len(ones))] for second, ones in sorted(late.items())}

    def by_second(self, name: str) -> dict[int, int]:
        """Return a series of the whole deployment, by seconds from the first fire."""
        series = self.stack.series[name]
        return {
            second - self.case.first_at // SECOND_MS: round(of / self.stack.part)
            for second, of in sorted(series.items())
        }

    def fullest(self) -> dict[str, float]:
        """Return the used fraction of each limit in its fullest second."""
        stack, table = self.stack, self.stack.world.table
        most = stack.settings.executors["normal"] * stack.part
        return {
            "executors": max(stack.series["at once"].values(), default=0) / most,
            "index partition": table.fullest(),
            "table": table.highest("table") / table.rows.writes,
            "table partition": table.fullest_of_rows(),
            "index": table.highest("index") / table.index.writes,
            "scans": max(stack.series["scanning"].values(), default=0) / stack.partitions / SECOND_MS,
        }

    def first_limit(self) -> str:
        """Return the limit of which the largest fraction was used."""
        fullest = self.fullest()
        return max(fullest, key=lambda name: fullest[name])

    def dollars_per_million(self) -> float:
        """Return the costs of a million runs from their requests, without the costs of an idle stack."""
        spent, table = self.stack.world.spent, self.stack.world.table
        batches = spent.calls["execute"]
        dollars = (
            PRICES.write_unit * (table.total("table") + table.total("index"))
            + PRICES.read_unit * (table.total("reads") + len(self.late))  # and once by the watch
            + PRICES.queue_request
            * (spent.requests["queue"] + 2 * batches)  # the mapping receives, and deletes nothing
            + PRICES.function_request * (batches + spent.calls["scan"])
            + PRICES.function_gb_second * (spent.gb_ms["execute"] + spent.gb_ms["scan"]) / SECOND_MS
        )
        return dollars / max(1, len(self.late)) * MILLION

    def dollars_per_month(self) -> float:
        """Return the monthly costs of the provisioned pollers, which do not depend on load."""
        least = sum(pollers for pollers, _ in self.stack.settings.pollers_of.values())
        return least * POLLER_HOUR_DOLLARS * _MONTH_HOURS

    def requests_per_run(self) -> float:
        """Return how many requests to AWS the scans and executors made for each run."""
        return self.stack.world.spent.requests.total() / max(1, len(self.late))

    def figures(self) -> Mapping[str, object]:
        """Return the figures that are kept."""
        stack, table = self.stack, self.stack.world.table
        fullest = self.fullest()
        return {
            "case": self.case.name,
            "deployment": self.case.deployment.told(),
            "runs": len(self.late),
            "late_ms": {"p50": self.late_at(0.5), "p99": self.late_at(0.99), "max": self.late[-1]},
            "steps": self.steps(),
            "wrong": {"lost": self.lost, "doubled": self.doubled, "early": self.early},
            "executors": stack.most_at_once(),
            "cold_starts": round(stack.cold_starts / stack.part),
            "index_partition_units": round(fullest["index partition"] * PARTITION_WRITES),
            "table_units": round(table.highest("table") / stack.part),
            "refused": round(table.refused / stack.part),
            "requests_per_run": round(self.requests_per_run(), 2),
            "dollars_per_million": round(self.dollars_per_million(), 2),
            "first_limit": self.first_limit(),
        }


_MONTH_HOURS = 730


def play(case: Case, seed: int = 1) -> Outcome:
    """Play a case until all its runs have begun, or its patience ends."""
    stack = Stack(case.deployment, BEGINS_AT, seed)
    expected: set[RunId] = set()
    for job, runs in stored_by(case, stack.rules.shards, stack.part):
        stack.store.jobs.insert([job], BEGINS_AT - HOUR_MS)
        expected.update(runs)
    stack.clock.run(_play(stack, max(run.fire_at for run in expected), case.patience_seconds, len(expected)))
    called: Counter[int] = stack.series["called"]
    for calls in stack.trace.calls.values():
        called[calls[0] // SECOND_MS] += 1
    return Outcome(
        case,
        stack,
        late=sorted(calls[0] - run.fire_at for run, calls in stack.trace.calls.items()),
        lost=len(expected - stack.trace.calls.keys()),
        doubled=sum(len(calls) > 1 for calls in stack.trace.calls.values()),
        early=sum(at < run.fire_at for run, calls in stack.trace.calls.items() for at in calls),
    )


async def _play(stack: Stack, last_at: int, patience_seconds: int, expected: int) -> None:
    work = asyncio.create_task(stack.work())
    while stack.clock.now() < last_at + patience_seconds * SECOND_MS and not work.done():
        await stack.clock.sleep_until(stack.clock.now() + SECOND_MS)
        if stack.clock.now() > last_at and len(stack.trace.calls) >= expected and not stack.at_once:
            break
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
