"""A shop whose events run many jobs, and the queue in which its events wait: with delays as SQS has them."""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from tests.engine.play import Play, spec
from tests.patterns import matches
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import Matched
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import OnEvents
from timeball.engine.context import Context
from timeball.engine.events.receive import publish, receive
from timeball.engine.events.subscribe import subscribe
from timeball.engine.scheduling.submit import submit
from timeball.testing.memory_services import MemoryBus

PATTERN = '{"source":["shop"]}'
MANY = 100
_LONGEST_DELAY_SECONDS = 900
_BATCH = 10
_BATCH_MS = 40


@dataclass
class Shop:
    """A noisy tenant with many jobs on one pattern, and a quiet one with one job; and what is in their queue."""

    jobs: int = MANY
    play: Play = field(default_factory=Play)
    bus: MemoryBus = field(default_factory=lambda: MemoryBus(matches))

    def __post_init__(self) -> None:
        self.context: Context = self.play.context()
        self.submit("noisy", [f"job-{number:03}" for number in range(self.jobs)])
        self.submit("quiet", ["job-000"])

    def submit(self, tenant: str, names: Sequence[str]) -> None:
        wanted = [on_events(tenant, name) for name in names]
        now = self.play.clock.now()
        assert subscribe(self.context, self.bus, wanted, now) == {}
        submit(self.context, wanted, now)

    def bound(self, **quotas: int) -> None:
        self.play.store.freezes.insert([Freezes("noisy", quotas=Quotas(**quotas))], self.play.clock.now())
        self.play.clock.advance(3 * SECOND_MS)

    def send(self, tenant: str, events: int, name: str = "") -> None:
        sent = [{"id": f"{name}{number}", "source": "shop", "type": "x"} for number in range(events)]
        publish(self.context, self.bus, tenant, sent)

    def receive(self) -> None:
        """Deal with ten messages, as the function does in one invocation; what is put off goes behind all others."""
        taken, self.bus.queue = self.bus.queue[:_BATCH], self.bus.queue[_BATCH:]
        assert all(receive(self.context, self.bus, taken))

    def runs(self, tenant: str) -> list[Run]:
        return [run for run in self.play.store.runs.values() if run.id.job.tenant == tenant]  # type: ignore[attr-defined]

    def made_after(self, processes: int = 1, hours: int = 24) -> list[int]:
        """Let processes receive ten messages each 40 ms, each when its delay is over; return when runs were made.

        In seconds from now, in their order. The queue is empty after that, or time is up.
        """
        clock, numbers = self.play.clock, count()
        began_at, contexts = clock.now(), [self.context, *(self.play.context() for _ in range(processes - 1))]
        waiting = [(began_at, next(numbers), one) for one in self.bus.queue]
        made: Counter[int] = Counter()
        while waiting and clock.now() < began_at + hours * HOUR_MS:
            clock.advance(max(waiting[0][0] - clock.now(), 0))
            taken: list[Matched] = []
            while waiting and len(taken) < _BATCH and waiting[0][0] <= clock.now():
                taken.append(heapq.heappop(waiting)[2])
            before = len(self.play.store.runs)  # type: ignore[arg-type]
            self.bus.queue, self.bus.delays = [], []
            assert all(receive(contexts[next(numbers) % processes], self.bus, taken))
            assert all(0 <= seconds <= _LONGEST_DELAY_SECONDS for seconds in self.bus.delays)
            for one, seconds in zip(self.bus.queue, self.bus.delays, strict=True):
                heapq.heappush(waiting, (clock.now() + seconds * SECOND_MS, next(numbers), one))
            made[(clock.now() - began_at) // SECOND_MS] += len(self.play.store.runs) - before  # type: ignore[arg-type]
            clock.advance(_BATCH_MS // processes)
        self.bus.queue, self.bus.delays = [one for _, _, one in waiting], []
        return sorted(made.elements())


def on_events(tenant: str, name: str) -> JobSpec:
    """Return a job of a tenant that runs on events of the shop."""
    return replace(evolve(spec(name, OnEvents()), event=PATTERN), key=JobKey(tenant, name))
