"""The jobs and runs that the cases of the contract write."""

from typing import Any

from timeball.domain.backfill import Backfill
from timeball.domain.model.ids import BackfillKey, JobKey, OperationKey, Origin, RunId, TaskKey
from timeball.domain.model.jobs.job import Completion, Guarantee, Job, JobSpec, Priority, RuleSet
from timeball.domain.model.jobs.task import TaskSpec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, Jitter, OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.operation import JobMatch, Operation, OperationAction
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.ports.rows import Row, Rows, Swap

NOW = parse_instant("2026-11-21T09:30:00.250Z")
KEY = JobKey("acme", "job")


def work(characters: int = 20) -> Work:
    return Work(HttpTarget("https://target.example/hook", "PUT", {"x-für": "✓"}), '"' + "ä" * characters + '"')


def job(name: str = "job", *, due_at: int | None = NOW, characters: int = 20, shard: int = 0) -> Job:
    return Job(
        JobSpec(
            JobKey("acme", name),
            Schedule(Every(60, NOW), start_at=NOW, end_at=NOW + 10**9, max_runs=7),
            work(characters),
            fingerprint="print",
            name="Zürich 🕰 'quoted' \"twice\"",
            tags={"città": "Forlì", "empty": ""},
            priority=Priority.NORMAL,
            retry=RetryPolicy(2, 7, 1.5, 100, Jitter.NONE, 3600, ("5xx", "409", "timeout")),
            completion=Completion.CALLBACK,
            heartbeat_seconds=30,
            delivery=Guarantee.AT_MOST_ONCE,
            catch_up=CatchUp(CatchUpPolicy.ALL, 5, 900),
            overlap=OverlapPolicy.QUEUE_ONE,
            jitter_seconds=30,
        ),
        shard=shard,
        created_at=NOW,
        updated_at=NOW,
        rules=RuleSet(3, "2027z"),
        next_fire_at=due_at,
        due_at=due_at,
    )


def other_spec() -> JobSpec:
    """Return a user's change of `job`: another schedule, other policies, the same work."""
    cron = Cron("30 2 * * *", "Europe/Berlin", Gap.SKIP, DstOverlap.BOTH)
    return JobSpec(KEY, Schedule(cron, max_runs=9), work(), "other print", name="other", tags={"a": "b"})


def backfill(name: str = "bf1") -> Backfill:
    return Backfill(
        key=BackfillKey(KEY, name),
        schedule=Schedule(Every(60, 250)),
        first_at=NOW - 600_000,
        last_at=NOW - 60_000,
        total=10,
        pace_seconds=2,
        overlap=OverlapPolicy.QUEUE_ONE,
        shard=0,
        created_at=NOW,
        updated_at=NOW,
        next_fire_at=NOW - 600_000,
        due_at=NOW,
        rules=RuleSet(3, "2027z"),
    )


def operation(name: str = "op1") -> Operation:
    return Operation(
        OperationKey("acme", name),
        OperationAction.PAUSE,
        JobMatch({"città": "Forlì"}, "send_mail", "pending"),
        per_second=100,
        shard=0,
        created_at=NOW,
        updated_at=NOW,
        by=Actor("key_1", "editor", "2001:db8::1"),
        fingerprint="print",
        due_at=NOW,
    )


def task_spec(name: str = "send_mail") -> TaskSpec:
    return TaskSpec(
        TaskKey("acme", name),
        HttpTarget("https://target.example/hook", "PUT", {"x-für": "✓"}),
        name="Zürich 🕰",
        tags={"città": "Forlì"},
        priority=Priority.HIGH,
        retry=RetryPolicy(2, 7, 1.5, 100, Jitter.NONE, 3600, ("5xx", "409", "timeout")),
        timeout_seconds=60,
        completion=Completion.CALLBACK,
        heartbeat_seconds=30,
        payload_schema='{"type":"object"}',
        fingerprint="print",
    )


def one_off(name: str = "job") -> Job:
    row = job(name)
    return Job(
        JobSpec(row.key, Schedule(At(NOW)), row.spec.work),
        shard=0,
        created_at=NOW,
        updated_at=NOW,
        next_fire_at=NOW,
        due_at=NOW,
        final_fire_at=NOW,
    )


def run_id(fire_at: int = NOW, origin: Origin = Origin.SCHEDULE, key: JobKey = KEY) -> RunId:
    return RunId(key, fire_at, origin)


def run(
    fire_at: int = NOW,
    state: RunState = RunState.QUEUED,
    origin: Origin = Origin.SCHEDULE,
    due_at: int | None = None,
    last_fire_at: int | None = None,
) -> Run:
    return Run(
        id=run_id(fire_at, origin),
        state=state,
        decided_at_version=1,
        priority="normal",
        shard=0,
        not_before=fire_at,
        created_at=NOW,
        due_at=due_at,
        last_fire_at=last_fire_at,
        finished_at=NOW if state in (RunState.SKIPPED, RunState.SUCCEEDED) else None,
    )


def swapped(rows: Rows[Any, Row], before: Row, after: Row) -> Row:
    """Swap a row, and return it as it was written."""
    (answer,) = rows.swap([Swap(before, after)], NOW)
    assert answer.done
    assert answer.row is not None
    return answer.row
