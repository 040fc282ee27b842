"""Faults of jobs that wait for jobs: when they may run, which process notifies them, and what closes a circle."""

from collections.abc import Sequence
from typing import Any

from tests.simulation.faults.hands import Fault, both, instead, lost
from timeball.domain.dependencies.evaluation import fire_time, is_as_notified
from timeball.domain.dependencies.passing import handed
from timeball.domain.dependencies.trigger_rule import CycleStep, JoinDecision, ParentStanding, cycle_of_parent, join
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.dependency import State, TriggerRule
from timeball.engine.changes.change import cancel
from timeball.engine.changes.remove import Removal, Removed, remove
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import wake_children
from timeball.engine.dependencies.examine import circle_of, naming_any
from timeball.ports.rows import Swap


def _at_any_time(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    joined = join(rule, parents)
    return JoinDecision(CycleStep.RUN) if len(parents) > 1 else joined


def _by_nobody(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    return evolve(join(rule, parents), blocked=None)


def _a_second_late(job: Job, parents: list[ParentStanding], now: int) -> int:
    return fire_time(job, parents, now) + 1_000


def _tells_a_parent(swap: Swap[Any]) -> bool:
    return isinstance(swap.after, Job) and swap.after.has_children and not swap.before.has_children


def _in_any_cycle(job_id: str, parent: Job | None, row: Run | None, fire_at: int) -> ParentStanding:
    standing = cycle_of_parent(job_id, parent, row, fire_at)
    return ParentStanding(State.SUCCEEDED, fire_at) if standing.state is State.GOING else standing


def _who_ever_named_them(rows: Sequence[Job | None], _: object) -> list[Job]:
    return [row for row in rows if row is not None]


def _as_nobody_has_written_it(row: Job, read: Job) -> bool:
    return row.must_notify_children and row.revision == read.revision


def _the_parent_first(context: Context, asked: Removal, by: Actor = NO_ACTOR) -> Removed:
    if asked.children is not None:
        cancel(context, [(asked.job, asked.version)], by)
    return remove(context, asked, by)


FAULTS = {
    "nobody looks for circles": Fault(instead(circle_of, lambda *_: ([], 0)), "nothing waits for itself", 31),
    "a job with two parents does not wait": Fault(
        instead(join, _at_any_time), "a job is let go only if its rule holds", 1
    ),
    "a cycle does not wait for its parents": Fault(
        instead(cycle_of_parent, _in_any_cycle), "a cycle is let go only if its rule holds", 21
    ),
    "a parent does not hear of its child": Fault(
        lost("jobs.swap", _tells_a_parent), "who is waited for knows that it has children", 1
    ),
    "a call is handed nothing of its parents": Fault(
        instead(handed, lambda payload, _: payload), "a call is handed what came of its parents", 1
    ),
    "nobody tells the children": Fault(
        instead(wake_children, lambda *_: None), "children are told before a job forgets to", 1
    ),
    "two jobs wake each other over an edge that is stale": Fault(
        both(instead(naming_any, _who_ever_named_them), instead(is_as_notified, _as_nobody_has_written_it)),
        "what children have to learn is told in the end",
        meeting="the death of a parent of two that have swapped which of them waits for the other",
    ),
    "a job is cancelled before its children": Fault(
        instead(remove, _the_parent_first), "a job is cancelled after its children", 51
    ),
    "nobody is blocked": Fault(instead(join, _by_nobody), "who waits at the end has somebody to wait for", 6),
    "a child has a fire time of its own": Fault(
        instead(fire_time, _a_second_late), "a job runs once for its parents", 6
    ),
}
