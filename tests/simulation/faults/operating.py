"""Faults of bulk operations: jobs are processed twice, or left out, or counted twice, or too fast."""

from collections.abc import Sequence
from dataclasses import replace

from tests.simulation.faults.hands import Fault, answered, instead
from timeball.domain.model.ids import JobKey
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.operation import Failure, Operation, progressed
from timeball.domain.operation import JobFault as Reason
from timeball.engine.context import Context
from timeball.engine.operations.apply import apply_to_job
from timeball.engine.runs.manual import had_ended_by, is_to_be_retried
from timeball.engine.runs.trigger import Trigger, Triggered, trigger
from timeball.ports.errors import UnavailableError

_ONCE = "an operation deals with a job once"
_ALL = "an operation that is through has dealt with every job"


def _triggers_by_the_clock(context: Context, triggers: Sequence[Trigger], by: Actor = NO_ACTOR) -> list[Triggered]:
    if by.operation is not None:
        name = f"{by.operation} at {context.clock.now()}"
        triggers = [replace(one, request=name, fingerprint=name) for one in triggers]
    return trigger(context, triggers, by)


def _leaves_out_impossible_ones(context: Context, operation: Operation, key: JobKey) -> Reason | None:
    try:
        return apply_to_job(context, operation, key)
    except UnavailableError:
        return None


def _adds_to_any_row(
    row: Operation, begun: Operation, failures: Sequence[Failure], count: int, now: int, *, is_stuck: bool
) -> Operation | None:
    here = replace(begun, behind=row.behind, through=row.through, position=row.position)
    return progressed(row, here, failures, count, now, is_stuck=is_stuck)


def _is_due_at_once(
    row: Operation, begun: Operation, failures: Sequence[Failure], count: int, now: int, *, is_stuck: bool
) -> Operation | None:
    after = progressed(row, begun, failures, count, now, is_stuck=is_stuck)
    return after and replace(after, due_at=after.due_at and min(after.due_at, now))


FAULTS = {
    "an operation triggers a job once for each try": Fault(instead(trigger, _triggers_by_the_clock), _ONCE, 1),
    "an operation does not record its changes": Fault(answered("changes.of_job", lambda _: []), _ONCE, 1),
    "an operation retries runs that failed after its request": Fault(instead(had_ended_by, lambda *_: True), _ALL, 51),
    "an operation retries a run twice that has died twice": Fault(
        instead(is_to_be_retried, lambda run, *_, **__: run.is_dead_letter),
        _ONCE,
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
    "an operation goes on past a job that it could not change": Fault(
        instead(apply_to_job, _leaves_out_impossible_ones), _ALL, 11
    ),
    "an operation counts the changes of another process": Fault(
        instead(progressed, _adds_to_any_row), "an operation counts each job once", 11
    ),
    "an operation has no pace": Fault(
        instead(progressed, _is_due_at_once), "an operation keeps its pace", scene="bulk operations"
    ),
}
