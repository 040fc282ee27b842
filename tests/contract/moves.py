"""The collections of the store, and the changes that the rows of each may undergo."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.contract.rows import KEY, NOW, backfill, job, operation, other_spec, run, run_id, task_spec
from timeball.domain.attempts.callback import handed_over
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey, Segment
from timeball.domain.backfill import (
    Backfill,
    cancelled_backfill,
    plan_backfill,
    waiting,
)
from timeball.domain.backfill import (
    advanced as advanced_backfill,
)
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.changes.change import (
    cancelled,
    deleted_task,
    paused,
    replaced_task,
    resumed,
    revised,
    revised_task,
)
from timeball.domain.changes.reach import noted
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, Origin
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, DateRange
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch, Freezes, without_freeze
from timeball.domain.model.jobs.job import Job, JobStatus, advanced, locked, rechecked_later, with_spec
from timeball.domain.model.jobs.job_states import concluded, pushed_back, replanned, settled
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Begun, Bounds, Limiter, RateTokens
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.runs.transitions import (
    admitted,
    asked_to_stop,
    claimed,
    deferred,
    discarded,
    due_again,
    ended,
    lined_up,
    put_off,
    renewed,
    reopened,
    requeued,
    retrying,
    withdrawn,
)
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import (
    NotedPattern,
    Patterns,
    Subscriber,
    Subscription,
    SubscriptionKey,
    WaitingEvent,
    WaitingEventKey,
)
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.domain.operation import (
    Failure,
    JobFault,
    JobPosition,
    NextBatch,
    Operation,
    cancelled_operation,
    progressed,
    with_next_batch,
)
from timeball.domain.sharing.stated_limits import bounded_by
from timeball.domain.time.schedule import At, Schedule

FAILED = Attempt(1, Outcome.FAILED, NOW, NOW + 1, NOW + 2, 500, "Es brach ab: ☹", "{}")
ANSWERED = replace(FAILED, status=200)
RUNNING = claimed(run(), "owner", NOW, 30_000)

SLOT = Waiting("größe#1 /x", Permit.SLOT)
IN_LINE = lined_up(run(), SLOT, Reason.LIMIT_WAIT, None)
HANDED_OVER = handed_over(RUNNING, with_spec(job(), heartbeat_seconds=30, timeout_seconds=600), NOW + 1, NOW + 2, 5_000)
DEAD = ended(RUNNING, RunState.FAILED, NOW + 9, Guarantor.MESSAGE, Reason.NOT_RETRIABLE, FAILED)

JOB_MOVES: dict[str, Callable[[Job], Job]] = {
    "advanced": lambda row: advanced(row, run(), NOW),
    "advanced behind a fire that is caught up": lambda row: advanced(row, replace(run(), not_before=NOW + 9_000), NOW),
    "advanced to its end": lambda row: advanced(with_spec(row, schedule=Schedule(At(NOW))), run(), NOW),
    "looked at, at its end": lambda row: rechecked_later(replace(row, final_fire_at=NOW), NOW),
    "replanned": lambda row: replanned(row, NOW + 60_000),
    "pushed back": lambda row: pushed_back(row, NOW + 1_000),
    "concluded": lambda row: concluded(row, JobStatus.COMPLETED, NOW + 5),
    "concluded while a change is not settled": lambda row: concluded(paused(row, NOW), JobStatus.FAILED, NOW + 5),
    "cancelled": lambda row: cancelled(row, NOW + 5),
    "cancelled and settled": lambda row: settled(cancelled(row, NOW + 5)),
    "paused": lambda row: paused(row, NOW + 5),
    "paused and settled": lambda row: settled(paused(row, NOW + 5)),
    "paused and resumed": lambda row: resumed(settled(paused(row, NOW + 5)), NOW + 9),
    "rescheduled": lambda row: _bare(revised(row, other_spec(), NOW + 5)),
    "its guard held, another parked": lambda row: locked(row, run_id(), run_id(NOW + 1, Origin.MANUAL)),
    "one of its runs started late": lambda row: noted(noted(row, NOW - 5, NOW), NOW - 3, NOW + 1),
    "its guard free again": lambda row: locked(locked(row, run_id(), run_id(NOW + 1)), None, None),
}

RUN_MOVES: dict[str, tuple[Run, Run]] = {
    "claimed": (run(), RUNNING),
    "claimed from the due index": (run(due_at=NOW), claimed(run(due_at=NOW), "owner", NOW, 30_000)),
    "renewed": (RUNNING, renewed(RUNNING, NOW + 10_000, 30_000)),
    "asked to stop": (RUNNING, asked_to_stop(RUNNING, Reason.JOB_CANCELLED)),
    "succeeded": (RUNNING, ended(RUNNING, RunState.SUCCEEDED, NOW + 9, Guarantor.MESSAGE, last=ANSWERED)),
    "failed": (RUNNING, ended(RUNNING, RunState.FAILED, NOW + 9, Guarantor.MESSAGE, Reason.NOT_RETRIABLE, FAILED)),
    "retrying": (RUNNING, retrying(RUNNING, NOW + 5_000, FAILED)),
    "queued again": (retrying(RUNNING, NOW, FAILED), requeued(retrying(RUNNING, NOW, FAILED))),
    "withdrawn": (run(due_at=NOW), withdrawn(run(due_at=NOW))),
    "let go": (withdrawn(run()), put_off(withdrawn(run()), NOW + 7_000, NOW + 7_000, 2)),
    "out of the due index": (run(due_at=NOW), due_again(run(due_at=NOW), None)),
    "not carried": (run(), due_again(run(), NOW + 30_000, 1)),
    "held back": (run(), deferred(run(), NOW + 30_000, Reason.CIRCUIT_OPEN, NOW)),
    "lined up": (run(), IN_LINE),
    "lined up after an attempt was lost": (RUNNING, lined_up(RUNNING, SLOT, Reason.LIMIT_WAIT, FAILED)),
    "called": (IN_LINE, admitted(IN_LINE)),
    "begun with a place": (
        admitted(IN_LINE),
        replace(claimed(admitted(IN_LINE), "owner", NOW, 30_000), slots=("db", "")),
    ),
    "handed over": (RUNNING, HANDED_OVER),
    "heard of": (HANDED_OVER, replace(HANDED_OVER, lease_until=NOW + 60_000)),
    "ended by its target's word": (HANDED_OVER, ended(HANDED_OVER, RunState.SUCCEEDED, NOW + 9, Guarantor.SCAN)),
    "tried again by hand": (DEAD, reopened(DEAD, NOW + 99)),
    "discarded": (DEAD, discarded(DEAD, NOW + 9)),
}


def _advanced(row: Backfill) -> Backfill:
    return advanced_backfill(row, plan_backfill(row, None, NOW).rows, NOW)


BACKFILL_MOVES: dict[str, Callable[[Backfill], Backfill]] = {
    "advanced": _advanced,
    "looking again later": lambda row: waiting(row, NOW),
    "woken": lambda row: replace(row, due_at=NOW + 3),
    "advanced to its end": lambda row: _advanced(replace(row, next_fire_at=row.last_at)),
    "cancelled": lambda row: cancelled_backfill(row, NOW + 5),
    "cancelled and stopped": lambda row: replace(cancelled_backfill(row, NOW + 5), due_at=None),
}

_LOOK = NextBatch(("job", "another"), JobPosition(NOW, "job"), is_last=False)
LOOKED = with_next_batch(operation(), _LOOK, NOW + 1)
_FAILURES = [Failure("another", JobFault.JOB_ENDED)]
TREATED = progressed(LOOKED, LOOKED, _FAILURES, 2, NOW + 2, is_stuck=False) or LOOKED
OPERATION_MOVES: dict[str, tuple[Operation, Operation]] = {
    "looked": (operation(), LOOKED),
    "treated": (LOOKED, TREATED),
    "stuck": (LOOKED, progressed(LOOKED, LOOKED, [], 0, NOW + 2, is_stuck=True) or LOOKED),
    "over": (TREATED, with_next_batch(TREATED, replace(_LOOK, names=(), is_last=True), NOW + 9_000)),
    "cancelled": (LOOKED, cancelled_operation(LOOKED, NOW + 5)),
}

HOST = Circuit(CircuitKey("acme", "https://[2001:db8::1]:8443"), failures=3, refilled_at=NOW)
RESTS = replace(HOST, failures=5, openings=1, open_until=NOW + 30_000, is_half_open=True)
SLOW = replace(HOST, segments=(Segment("reports", 5, 1, NOW + 30_000, is_half_open=True), Segment("", 1)))
HOST_MOVES = {
    "rests": (HOST, RESTS),
    "works again": (RESTS, replace(HOST, failures=0)),
    "a segment rests": (HOST, SLOW),
    "a segment works again": (SLOW, replace(HOST, segments=SLOW.segments[1:])),
}

TASK = Task(task_spec(), NOW, NOW)
TASK_MOVES = {
    "revised": revised_task(TASK, replace(task_spec(), timeout_seconds=9, payload_schema=None), NOW + 9),
    "deleted": deleted_task(TASK, NOW + 9),
    "deleted, and there again": revised_task(deleted_task(TASK, NOW + 9), task_spec(), NOW + 19),
}
KEPT = replaced_task(TASK, NOW + 9)

A, B, C = (BackfillKey(KEY, "a1"), BackfillKey(KEY, "b2"), BackfillKey(JobKey(KEY.tenant, "A_job-2"), "a1"))
ONE, TWO = BackfillSlots("acme", (A,)), BackfillSlots("acme", (A, C, B))
SLOT_MOVES = {"given": (ONE, TWO), "taken back": (TWO, BackfillSlots("acme"))}


def bare(row: Any) -> Any:
    """Return a row as its collection returns it: a job without its work."""
    return with_spec(row, work=None) if isinstance(row, Job) else row


@dataclass(frozen=True)
class Move:
    """A change of a row of a collection. `another` is a row under another key."""

    rows: str
    before: Any
    after: Any
    another: Any

    @property
    def key(self) -> Any:
        return key_of(self.before)


def key_of(row: Any) -> Any:
    """Return the key that a row is read by."""
    if isinstance(row, BackfillSlots | Freezes | Patterns | Run):
        return row.id if isinstance(row, Run) else row.tenant
    return row.ref if isinstance(row, Task) and row.replaced_at is not None else row.key


def _bare(row: Job) -> Job:
    return with_spec(row, work=None)


CALENDAR = Calendar(
    CalendarKey("acme", "holidays_de-1"),
    "Europe/Berlin",
    NOW,
    NOW,
    ("2026-12-25",),
    (DateRange("2027-01-01", "2027-01-06"),),
)
SUBSCRIPTION = Subscription(
    SubscriptionKey("acme", "a" * 16), '{"source":["città"]}', NOW, (Subscriber("A_job-2", NOW), Subscriber("b", NOW))
)
SUBSCRIPTION_MOVES = {
    "one less": replace(SUBSCRIPTION, jobs=(Subscriber("b", NOW + 1),)),
    "gone": replace(SUBSCRIPTION, jobs=(), is_gone=True),
    "there again": replace(SUBSCRIPTION, jobs=(Subscriber("c", NOW),), generation=2),
}
PATTERNS = Patterns("acme", (NotedPattern("a" * 16, NOW), NotedPattern("b" * 16, NOW)))
PATTERNS_MOVES = {
    "one more": replace(PATTERNS, noted=(*PATTERNS.noted, NotedPattern("c" * 16, NOW + 1))),
    "checked": replace(PATTERNS, noted=(), checked_at=NOW + 2),
}
WAITING = WaitingEvent(WaitingEventKey(KEY, f"{'a' * 16}.000001.{'9' * 15}.{'b' * 26}"), "c" * 32)
WAITING_MOVES = {
    "taken": replace(WAITING, used_by=run_id()),
    "taken anew": replace(WAITING, used_by=run_id(NOW + 1)),
}
CALENDAR_MOVES = {
    "other dates": replace(CALENDAR, dates=(), ranges=(), updated_at=NOW + 1, version=2),
    "deleted": replace(CALENDAR, is_deleted=True),
}
FREEZE = Freeze(
    "frz_1", NOW, None, FreezeMatch(job_ids=("a", "b"), tags={"città": "Forlì"}, task_id="mail"), NOW, "release ☃"
)
FROZEN = Freezes("acme", (FREEZE,))
FREEZES_MOVES = {
    "another one": replace(FROZEN, items=(FREEZE, Freeze("frz_2", NOW, NOW + 9, FreezeMatch(everything=True), NOW))),
    "quotas": replace(FROZEN, quotas=Quotas(runs_at_once=3, active_jobs=0)),
    "lifted": without_freeze(FROZEN, "frz_1", NOW + 5),
}

NAMED = UniqueKeyRow(UniqueKey("acme", "a" * 32), "job_1", NOW)
NAMED_MOVES = {
    "of another job": replace(NAMED, job_id="job_2", since=NOW + 9),
    "for a while": replace(NAMED, job_id="job_2", until=NOW + 9_000),
}

LIMITER = Limiter(
    LimiterKey("acme", "größe#1 /x"),
    3,
    Bounds(3, 0.5, 2),
    begun=(Begun(run_id(), 1, NOW), Begun(run_id(NOW + 1), 2, NOW + 9, revision=7)),
    tokens=RateTokens(NOW + 0.25, NOW + 1.5),
    rate_said_at=NOW,
    lines=(Permit.SLOT, Permit.TOKEN),
    joined_at=NOW,
    due_at=NOW + 9,
)
LIMITER_MOVES = {
    "free again": replace(LIMITER, begun=()),
    "nobody waits": replace(LIMITER, lines=(), due_at=None),
    "due later": replace(LIMITER, due_at=NOW + 99),
    "bounded by a person": bounded_by(LIMITER, Bounds(slots=0), NOW),
}

MOVES = {
    **{f"jobs: {name}": Move("jobs", job(), move(_bare(job())), job("another")) for name, move in JOB_MOVES.items()},
    **{f"runs: {name}": Move("runs", *pair, run(NOW + 1)) for name, pair in RUN_MOVES.items()},
    **{
        f"backfills: {name}": Move("backfills", backfill(), move(backfill()), backfill("another"))
        for name, move in BACKFILL_MOVES.items()
    },
    **{
        f"operations: {name}": Move("operations", *pair, operation("another")) for name, pair in OPERATION_MOVES.items()
    },
    **{
        f"circuits: {name}": Move("circuits", *pair, Circuit(CircuitKey("other", HOST.key.resource)))
        for name, pair in HOST_MOVES.items()
    },
    **{
        f"tasks: {name}": Move("tasks", TASK, after, Task(task_spec("other"), NOW, NOW))
        for name, after in TASK_MOVES.items()
    },
    "task_versions: kept longer": Move("task_versions", KEPT, replaced_task(TASK, NOW + 99), replace(KEPT, version=2)),
    **{
        f"calendars: {name}": Move("calendars", CALENDAR, after, replace(CALENDAR, key=CalendarKey("acme", "other")))
        for name, after in CALENDAR_MOVES.items()
    },
    **{
        f"subscriptions: {name}": Move(
            "subscriptions", SUBSCRIPTION, after, replace(SUBSCRIPTION, key=SubscriptionKey("acme", "b" * 16))
        )
        for name, after in SUBSCRIPTION_MOVES.items()
    },
    **{
        f"patterns: {name}": Move("patterns", PATTERNS, after, Patterns("other"))
        for name, after in PATTERNS_MOVES.items()
    },
    **{
        f"waiting_events: {name}": Move(
            "waiting_events", WAITING, after, replace(WAITING, key=WaitingEventKey(KEY, f"{WAITING.key.name}x"))
        )
        for name, after in WAITING_MOVES.items()
    },
    **{
        f"uniques: {name}": Move("uniques", NAMED, after, replace(NAMED, key=UniqueKey("other", "a" * 32)))
        for name, after in NAMED_MOVES.items()
    },
    **{f"freezes: {name}": Move("freezes", FROZEN, after, Freezes("other")) for name, after in FREEZES_MOVES.items()},
    **{f"slots: {name}": Move("slots", *pair, BackfillSlots("other")) for name, pair in SLOT_MOVES.items()},
    "limiters: asked": Move("limiters", Limiter(LIMITER.key, 3), LIMITER, Limiter(LimiterKey("acme"), 1)),
    **{
        f"limiters: {name}": Move("limiters", LIMITER, after, Limiter(LimiterKey("other", LIMITER.key.name), 1))
        for name, after in LIMITER_MOVES.items()
    },
}
"""Every move of every kind of row."""

KINDS = {move.rows: move for move in MOVES.values()}
"""One move of each kind."""
