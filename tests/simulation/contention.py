"""The shares of contending tenants and priorities: real scans and a fair queue, and executors of a bounded capacity.

`python -m tests.simulation.contention` prints the figures; test_contention.py holds smaller ones. executors.py models
which messages an executor takes. A scan takes as long as its sends.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import mean

from infra.concurrency import NOTICED
from tests.engine.play import NOW, open_days_only, spec
from tests.simulation.executors import NAMES, RANKS, SUCCESSORS, Calls, Executors, Rule
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import JobSpec, Priority
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.sharing.capacity import CAPACITY, granted
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Context, Rules
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.queue import Delivery
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.memory_store import MemoryStore
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

SMALL = {"high": 91, "normal": 52, "low": 7}
"""The executors of the stage `small` (infra/settings.py)."""

_STEP_MS = 100
_SCANNED_A_SECOND = 360
"""How many runs a second a scan of `small` sends (docs/reference/aws.md)."""


@dataclass
class Contention:
    """A Timeball in which little more is real than which runs are sent and received, and when.

    `started` has the begin of each run's call. `quotas` bound the parallel runs of each tenant. Without `takes_more` an
    executor has only the messages that it was invoked with. Its `rule` decides which messages get capacity. About
    `successors` executors of a priority start a successor. Without `has_fair_queues` messages arrive in the order of
    sending, as on the embedded AWS.
    """

    executors: Mapping[str, int] = field(default_factory=lambda: SMALL)
    weights: Mapping[str, int] = field(default_factory=dict)
    calls: Calls = field(default_factory=Calls)
    quotas: dict[str, int] = field(default_factory=dict)
    takes_more: bool = True
    slots: int = CAPACITY
    rule: Rule = granted
    successors: int = SUCCESSORS
    has_fair_queues: bool = True
    shards: int = 4
    scanned_a_second: int = _SCANNED_A_SECOND

    def __post_init__(self) -> None:
        self.clock = VirtualClock(NOW - NOW % SECOND_MS)
        self.begun_at = self.clock.now()
        self.store = MemoryStore()
        of_a_message = Rules().runs_per_message if min(self.executors.values()) >= NOTICED else 1
        self.rules = Rules(shards=self.shards, runs_per_message=of_a_message)
        self.queue = MemoryQueue(
            self.clock.now, self.rules.lead, self.rules.runs_per_message, is_fair=self.has_fair_queues
        )
        self.context = Context(self.store, self.queue, self.clock, self.rules, KeptTelemetry())
        self.started: dict[RunId, int] = {}
        self.priorities: dict[JobKey, Priority] = {}
        self.due: dict[JobKey, int] = {}
        self._scan_at = self.begun_at
        self._sweeps = open_days_only(*range(self.shards))
        self._executors = [
            Executors(
                self.queue,
                priority,
                NAMES[: RANKS[priority]],
                most,
                self.calls,
                self.quotas,
                self._begun,
                self.takes_more,
                self.slots,
                self.rule,
                self.weights,
                self.successors,
                self.rules.runs_per_message,
            )
            for priority, most in self.executors.items()
        ]

    def store_jobs(
        self, tenant: str, due: Iterable[float], priority: Priority = Priority.NORMAL, name: str = "job"
    ) -> None:
        """Store one-offs that are due this many seconds after the start."""
        now = self.begun_at - DAY_MS
        specs = [self._spec(tenant, f"{name}-{n}", seconds, priority) for n, seconds in enumerate(due)]
        self.store.jobs.insert([new_job(one, now, Shards(self.shards)) for one in specs], now)
        self.priorities |= {one.key: priority for one in specs}
        self.due |= {one.key: one.schedule.timing.at for one in specs if isinstance(one.schedule.timing, At)}

    def play(self, seconds: float, each_second: Callable[[], object] = lambda: None) -> None:
        """Let time pass: scans, executors, and what `each_second` does every second."""
        until = self.clock.now() + int(seconds * SECOND_MS)
        while self.clock.now() < until:
            if self.clock.now() % SECOND_MS == 0:
                each_second()
            self._scan()
            for executors in self._executors:
                executors.work(self.clock.now())
            self.clock.advance(_STEP_MS)

    def lateness(self, tenant: str) -> list[float]:
        """Return how late (seconds) each run of a tenant began. A run that has not begun is as late as it is by now."""
        return [
            (self.started.get(run, self.clock.now()) - run.fire_at) / SECOND_MS
            for run in self._due()
            if run.job.tenant == tenant
        ]

    @property
    def most_at_work(self) -> dict[str, int]:
        """Return the most executors of each priority that there were at once, successors included."""
        return {executors.priority: executors.most_at_work for executors in self._executors}

    def waits(self) -> dict[str, float]:
        """Return the mean wait (seconds) of the runs of each priority. Runs that have not begun count until now."""
        waited: dict[str, list[float]] = defaultdict(list)
        for run in self._due():
            at = self.started.get(run, self.clock.now())
            waited[self.priorities[run.job]].append((at - run.fire_at) / SECOND_MS)
        return {priority: mean(seconds) for priority, seconds in waited.items()}

    def started_of(self) -> Counter[str]:
        """Return the number of runs that have begun, by their priority."""
        return Counter(str(self.priorities[run.job]) for run in self.started)

    def dispatched(self) -> Counter[str]:
        """Return the number of runs that were sent, by tenant."""
        return Counter(run.id.job.tenant for run in self.queue.sent)

    def _due(self) -> list[RunId]:
        now = self.clock.now()
        return [RunId(key, at, Origin.SCHEDULE) for key, at in self.due.items() if at <= now]

    def _scan(self) -> None:
        """Scan if the last scan is done: each whole second, and at once while there is backlog."""
        if self.clock.now() < self._scan_at:
            return
        context = replace(self.context, weights_of=lambda _: self.weights)
        done = scan(context, 0, Owner("2026", "a"), self._sweeps)
        takes_ms = done.sent * SECOND_MS // self.scanned_a_second
        wait_ms = 0 if done.backlog else SECOND_MS - self.clock.now() % SECOND_MS
        self._scan_at = self.clock.now() + max(takes_ms, wait_ms, _STEP_MS)

    def _begun(self, delivery: Delivery, at: int) -> None:
        self.started[delivery.run] = at

    def _spec(self, tenant: str, name: str, seconds: float, priority: Priority) -> JobSpec:
        at = self.begun_at + int(seconds * SECOND_MS)
        return replace(spec(name, At(at)), key=JobKey(tenant, name), priority=priority)


def beside_a_crowd(crowd: int, seconds: int = 30) -> Contention:
    """Give one tenant this many runs due in one second, and another a job due in that second and each later one."""
    contention = Contention()
    contention.store_jobs("crowd", [10.0] * crowd)
    contention.store_jobs("quiet", range(10, seconds))
    contention.play(seconds + 5)
    return contention


def by_weight(weights: Mapping[str, int], each: int, seconds: int) -> Contention:
    """Give tenants of some weights more due runs than scans can send."""
    contention = Contention(weights=weights)
    for tenant in weights:
        contention.store_jobs(tenant, [6.0] * each)
    contention.play(seconds)
    return contention


def by_priority(executors: Mapping[str, int], seconds: int, more: float = 10) -> Contention:
    """Each second give each priority a third of `more` times the runs of 1 s that all executors can execute.

    The executors have little capacity, of which one tenant gets half, so that few runs contend.
    """
    calls = Calls({"acme": SECOND_MS})
    contention = Contention(executors, calls=calls, scanned_a_second=1_000_000, slots=20)
    each = int(more * 10 * sum(executors.values()) / 3)
    for priority in Priority:
        due = [6 + second + place / each for second in range(seconds) for place in range(each)]
        contention.store_jobs("acme", due, priority, name=str(priority))
    contention.play(seconds + 6)
    return contention


def main() -> int:
    """Print the figures."""
    print("a job each second beside what another tenant has due in one second: lateness in s, median and worst")
    for crowd in (1_000, 100_000):
        late = sorted(beside_a_crowd(crowd).lateness("quiet"))
        print(f"  beside {crowd:>7,}: {late[len(late) // 2]:.1f}  {late[-1]:.1f}")
    print("dispatches of tenants that contend, by weight")
    for weights in ({"one": 1, "two": 2}, {"one": 1, "two": 2, "five": 5}):
        sent = by_weight(weights, 9_000, 30).dispatched()
        shown = ", ".join(f"weight {weight}: {sent[tenant]:,}" for tenant, weight in weights.items())
        print(f"  {shown} ({sent['two'] / sent['one']:.2f} to 1)")
    for more in (3, 10):
        print(f"executors with {more} times as much to do as they can: mean wait in s, and share of all starts")
        contention = by_priority({"high": 12, "normal": 7, "low": 1}, 20, more)
        waits, started = contention.waits(), contention.started_of()
        for priority in Priority:
            print(f"  {priority:<6}: {waits[priority]:5.1f}  {started[priority] / started.total():.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
