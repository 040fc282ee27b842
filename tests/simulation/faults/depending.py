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
from timeball.engine.dependencies.examine import Above, naming_any, search_above
from timeball.ports.rows import Swap


def _at_any_time(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    joined = join(rule, parents)
    return JoinDecision(CycleStep.RUN) if len(parents) > 1 else joined


def _without_an_actor(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    return evolve(join(rule, parents), blocked=None)


def _a_second_late(job: Job, parents: list[ParentStanding], now: int) -> int:
    return fire_time(job, parents, now) + 1_000


def _tells_a_parent(swap: Swap[Any]) -> bool:
    return isinstance(swap.after, Job) and swap.after.has_children and not swap.before.has_children


def _in_any_cycle(job_id: str, parent: Job | None, row: Run | None, fire_at: int) -> ParentStanding:
    standing = cycle_of_parent(job_id, parent, row, fire_at)
    return ParentStanding(State.SUCCEEDED, fire_at) if standing.state is State.GOING else standing


def _named_by_any_job(rows: Sequence[Job | None], _: object) -> list[Job]:
    return [row for row in rows if row is not None]


def _as_not_yet_written(row: Job, read: Job) -> bool:
    return row.must_notify_children and row.revision == read.revision


def _the_parent_first(context: Context, asked: Removal, by: Actor = NO_ACTOR) -> Removed:
    if asked.children is not None:
        cancel(context, [(asked.job, asked.version)], by)
    return remove(context, asked, by)


FAULTS = {
    "a circle of dependencies is accepted": Fault(
        instead(search_above, lambda *_: Above()), "nothing waits for itself", scene="a circle of jobs"
    ),
    "a job with two parents does not wait": Fault(
        instead(join, _at_any_time),
        "a job starts only if its rule holds",
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "a cycle does not wait for its parents": Fault(
        instead(cycle_of_parent, _in_any_cycle), "a cycle starts only if its rule holds", scene="a graph with items"
    ),
    "a parent does not note its child": Fault(
        lost("jobs.swap", _tells_a_parent),
        "each parent knows that it has children",
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "a call gets no results of its parents": Fault(
        instead(handed, lambda payload, _: payload),
        "a call gets the results of its parents",
        scene="a graph with items",
    ),
    "a parent's end does not reach its children": Fault(
        instead(wake_children, lambda *_: None),
        "a job drops its due key after its children know of its end",
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "two jobs wake each other over an edge that is stale": Fault(
        both(instead(naming_any, _named_by_any_job), instead(is_as_notified, _as_not_yet_written)),
        "children learn of each end of a parent",
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "a job is cancelled before its children": Fault(
        instead(remove, _the_parent_first),
        "a job is cancelled after its children",
        scene="a job that is cancelled with its children",
    ),
    "a child of a dead parent is not blocked": Fault(
        instead(join, _without_an_actor),
        "a job that waits at the end has a parent that may still end",
        meeting="the failure of a parent of two jobs that have swapped which one waits for the other",
    ),
    "a child has a fire time of its own": Fault(
        instead(fire_time, _a_second_late), "a job runs once for its parents", scene="a graph with items"
    ),
}
