"""A whole Timeball in one process: any store, queues in memory, a clock that tests advance, a target that notes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.model.ids import JobKey, LimiterKey, RunId, Shards
from timeball.domain.model.jobs.job import Job, JobSpec, Priority
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Accepted
from timeball.domain.model.terms.policies import Jitter, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, is_followed
from timeball.domain.time.instants import LATEST, MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import Schedule, Timing
from timeball.engine.batches import SideBySide, one_after_the_other
from timeball.engine.context import Context, Rules
from timeball.engine.execution.execute import execute
from timeball.engine.execution.finish import Result
from timeball.engine.execution.in_flight import call_of
from timeball.engine.execution.invocation import Term
from timeball.engine.scanning.buckets import Older, Sweeps
from timeball.engine.scanning.scan import CHUNK, ScanResult, scan
from timeball.engine.tally import Tally
from timeball.ports.collections import LedgerQuery
from timeball.ports.due_index import Owner
from timeball.ports.queue import Delivery, Queue
from timeball.ports.store import Store
from timeball.ports.target import Answer, Call, Caller, Executions, ExecutionStatus
from timeball.targets.calls import unanswered
from timeball.targets.http.verdict import answered
from timeball.testing.at_work import inline, watch
from timeball.testing.faults import Points, with_faults
from timeball.testing.memory_queue import MemoryQueue, handed_out
from timeball.testing.memory_services import MemoryExecutions
from timeball.testing.memory_store import MemoryStore
from timeball.testing.recorders import KeptAttempts, KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

NOW = parse_instant("2026-11-21T09:30:00.250Z")
"""In the middle of a day: a test that advances by minutes asks for one day of the due index."""

WORK = Work(HttpTarget("https://target.example/hook"), '{"n": 1}')
PLAIN_RETRY = RetryPolicy(max_retries=3, base_seconds=5, jitter=Jitter.NONE)

UNHEARD = 0
"""Stands for a status: the execution was started, but the answer was lost."""


def spec(name: str, timing: Timing | Schedule, retry: RetryPolicy = PLAIN_RETRY, timeout_seconds: int = 300) -> JobSpec:
    schedule = timing if isinstance(timing, Schedule) else Schedule(timing)
    return JobSpec(JobKey("acme", name), schedule, WORK, f"print-{name}", retry=retry, timeout_seconds=timeout_seconds)


def open_days_only(*shards: int) -> Sweeps:
    """Return the memory of a process that has just read all older days, and the number of shards."""
    older = {shard: Older(LATEST, LATEST, LATEST) for shard in shards}
    return Sweeps(older=older, shards=len(shards), shards_read_at=LATEST)


def result_of(run: Run, job: Job, at: int, status: int) -> Result:
    """Return the result that an executor must write after a call that was answered at once with a status."""
    return Result(run, job, answered(call_of(run, job), at, at, status))


@dataclass
class NotingCaller:
    """A target that answers each call with the next status of its list (200 after the last), after a delay."""

    clock: VirtualClock
    statuses: list[int] = field(default_factory=list)
    takes_ms: int = 0
    meanwhile: Callable[[], object] | None = None
    """What happens during the first call."""
    calls: list[tuple[int, Call]] = field(default_factory=list)
    executions: MemoryExecutions | None = None
    """Where it starts executions: each takes `lasts_ms`, and ends as the next of `ends` (well if there is none)."""
    lasts_ms: int = 0
    ends: list[ExecutionStatus] = field(default_factory=list)
    prepared: list[tuple[int, Call]] = field(default_factory=list)
    takes_to_prepare_ms: int = 0

    async def prepare(self, call: Call) -> None:
        self.prepared.append((self.clock.now(), call))
        await self.clock.sleep_until(self.clock.now() + self.takes_to_prepare_ms)

    async def call(self, call: Call) -> Answer:
        called_at = self.clock.now()
        self.calls.append((called_at, call))
        if self.meanwhile is not None and len(self.calls) == 1:
            self.meanwhile()
        if self.executions is not None and is_followed(call.work.target):
            return self._started(self.executions, call, called_at)
        status = self.statuses.pop(0) if self.statuses else 200
        await self.clock.sleep_until(called_at + self.takes_ms)
        return answered(call, called_at, self.clock.now(), status)

    def _started(self, executions: MemoryExecutions, call: Call, called_at: int) -> Answer:
        """Start an execution, unless one of its name was started before, or the next status is another."""
        status = self.statuses.pop(0) if self.statuses else 200
        if status not in (200, UNHEARD):
            return answered(call, called_at, called_at, status)
        name = f"{call.run}-{call.starts_as}"
        if name not in executions.started:
            end = self.ends.pop(0) if self.ends else ExecutionStatus(is_over=True)
            executions.start(name, called_at + self.lasts_ms, end)
        if status == UNHEARD:
            return unanswered(call, called_at, called_at, "No answer came.")
        return Answer(Accepted(name), called_at, called_at, is_down=False)

    def attempts(self) -> list[tuple[int, int]]:
        """Return (fire time, attempt) of each call, in order."""
        return [(call.run.fire_at, call.attempt) for _, call in self.calls]


@dataclass(frozen=True)
class StoppableCaller:
    """A caller whose process may be stopped before a call leaves, and after its answer has arrived."""

    caller: Caller
    points: Points

    async def prepare(self, call: Call) -> None:
        await self.caller.prepare(call)

    async def call(self, call: Call) -> Answer:
        self.points.reach()
        answer = await self.caller.call(call)
        self.points.reach()
        return answer


class Play:
    """One shard, one partition, one priority.

    A process without its own points reaches `points`.
    """

    def __init__(self, store: Store | None = None, at: int = NOW, rules: Rules | None = None) -> None:
        self.clock = VirtualClock(at)
        self.store: Store = store or MemoryStore()
        self.rules = rules or Rules(shards=1, runs_per_message=1)
        self.queue = MemoryQueue(self.clock.now, self.rules.lead, self.rules.runs_per_message)
        self.telemetry = KeptTelemetry()
        self.tally = Tally(self.clock, self.telemetry)
        self.attempts = KeptAttempts()
        self.executions = MemoryExecutions(self.clock.now)
        self.caller = NotingCaller(self.clock, executions=self.executions)
        self.points: Points | None = None
        self.side_by_side: SideBySide = one_after_the_other
        self.invocations = 0

    def context(self, points: Points | None = None) -> Context:
        """Return the context of a process that stops, if at all, at the given points."""
        queue: Queue = self.queue
        points = points or self.points
        if points is None:
            context = Context(self.store, queue, self.clock, self.rules, self.tally, executions=self.executions)
            return replace(context, attempt_log=self.attempts)
        store, queue = with_faults(self.store, points), with_faults(queue, points)
        executions: Executions = with_faults(self.executions, points)
        context = Context(store, queue, self.clock, self.rules, self.tally, executions=executions)
        return replace(context, side_by_side=self.side_by_side, attempt_log=self.attempts)

    def store_jobs(self, specs: Iterable[JobSpec], at: int | None = None) -> list[Job]:
        """Store jobs as submitted at an instant; the scan does the rest."""
        now = self.clock.now() if at is None else at
        jobs = [new_job(one, now, Shards(self.rules.shards)) for one in specs]
        assert self.store.jobs.insert(jobs, now) == [None] * len(jobs)
        return jobs

    def scan(self, points: Points | None = None, chunk: int = CHUNK) -> ScanResult:
        """Scan once, only the open days."""
        return scan(self.context(points), 0, Owner("2026", "a"), open_days_only(0), chunk=chunk)

    def scan_all(self) -> None:
        """Scan until nothing more is due."""
        for _ in range(100):
            if not self.scan().backlog:
                return
        raise AssertionError("a hundred scans left a backlog")

    def execute(
        self,
        deliveries: Sequence[Delivery],
        points: Points | None = None,
        priority: str = Priority.NORMAL,
        deadline_at: int | None = None,
    ) -> list[Delivery]:
        """Let one invocation of an executor process deliveries, and return those that it sends back."""
        self.invocations += 1
        points = points or self.points
        inbox = self.queue.inbox(priority)
        caller: Caller = self.caller
        if points is not None:
            inbox, caller = with_faults(inbox, points), StoppableCaller(caller, points)
        owner = f"invocation-{self.invocations}"
        work = execute(self.context(points), inbox, caller, deliveries, owner, inline, Term(deadline_at))
        return self.clock.run(handed_out(inbox, deliveries, work))

    def execute_next(self) -> bool:
        """Execute the messages that can be received from one queue. Return False if no queue has any."""
        for priority in Priority:
            deliveries = self.queue.receive(priority)
            if deliveries:
                self.execute(deliveries, priority=priority)
                return True
        return False

    def watch(self) -> int:
        """Process the watches that are due, and return how many runs were sent again."""
        return watch(self.context(), self.queue)

    def messages(self) -> list[tuple[RunId, int]]:
        """Return the messages of all queues, and from when each may be received."""
        return [message for priority in Priority for message in self.queue.waiting(priority)]

    def drain(self) -> None:
        """Execute, and wait while there is nothing to execute, until no message is left."""
        for _ in range(1000):
            if self.execute_next():
                continue
            waiting = self.messages()
            if not waiting:
                return
            self.clock.advance(max(1, min(visible_at for _, visible_at in waiting) - self.clock.now()))
        raise AssertionError("the queue is never empty")

    def run_on(self, job: JobKey, for_ms: int = 120 * MINUTE_MS, *, to_its_end: bool = False) -> None:
        """Scan and execute, from one possible moment to the next, until each run of a job is over and in no index.

        With `to_its_end`, also until the job is no longer due. Its schedule must have an end.
        """
        until = self.clock.now() + for_ms
        while self.clock.now() < until:
            self.scan_all()
            if self.execute_next():
                continue
            left = [run for run in self.runs(job) if not run.is_terminal or run.due_at is not None]
            rows: list[Job | Run] = [*left]
            if to_its_end:
                rows.append(self.job(job))
            moments = [at for _, at in self.messages()]
            waited_for = [LimiterKey(job.tenant, run.waiting.name) for run in left if run.waiting is not None]
            limiters = self.store.limiters.read(waited_for)
            # The runs of a line are admitted when its limiter is due, and no sooner.
            moments += [one.due_at for one in limiters if one is not None and one.due_at is not None]
            moments += [row.due_at - self.rules.lookahead_ms for row in rows if row.due_at is not None]
            if not left and not moments:
                return
            assert moments, f"a run waits for nothing: {left}"
            self.clock.advance(max(SECOND_MS, min(moments) - self.clock.now()))
        raise AssertionError("the runs are never over")

    def job(self, key: JobKey) -> Job:
        """Return a job's row."""
        row = self.store.jobs.read([key])[0]
        assert row is not None
        return row

    def runs(self, key: JobKey) -> list[Run]:
        """Return a job's whole ledger, oldest first."""
        page = self.store.runs.ledger(LedgerQuery(key, 1000))
        assert page.next_before is None
        return list(reversed(page.runs))
