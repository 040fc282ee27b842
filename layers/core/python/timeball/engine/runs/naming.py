"""Name items while a run works: a child of its job with `forEach` has a run for each of them.

① Store the whole list so far, under its digest. ② Swap the run: it names that list. Only the attempt that is under way
may name items; a new attempt starts with an empty list. Items that the same request names again count once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.attempts.callback import awaits_report
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.sharing.fairness import MOST_OF_A_REQUEST
from timeball.engine.context import Context
from timeball.engine.runs.effects import change_run
from timeball.engine.runs.fan_out import named_by, save_named
from timeball.engine.runs.refusal import Answered, Refusal


@dataclass(frozen=True)
class Naming:
    """Items, as JSON texts, that an attempt names; `request` identifies repeats, `fingerprint` their content."""

    run: RunId
    attempt: int
    items: tuple[str, ...]
    request: str
    fingerprint: str


def makes_too_many_runs(context: Context, job: JobKey, items: int) -> bool:
    """Say whether so many items of one attempt would make more runs than it may ask for. Raises UnavailableError.

    If the settings let no job have as many children as that takes, nothing is read.
    """
    enough = MOST_OF_A_REQUEST // max(items, 1)
    return context.rules.max_children > enough and count_runs_of_each(context, job) > enough


def count_runs_of_each(context: Context, job: JobKey) -> int:
    """Return how many jobs have a run for each item that runs of a job name. Raises UnavailableError."""
    (children,) = context.store.edges.children([job])
    rows = context.store.jobs.read(children) if children else []
    return sum(row is not None and row.is_open and row.spec.for_each == job.job_id for row in rows)


def name_items(context: Context, namings: Sequence[Naming]) -> list[Answered]:
    """Name items; a repeat changes nothing. Raises UnavailableError if it is unknown whether they are named."""
    return [_name(context, one) for one in namings]


def _name(context: Context, one: Naming) -> Answered:
    def after(run: Run, _: Job | None, now: int) -> Run | Refusal:
        if not awaits_report(run, one.attempt):
            return Refusal.STALE
        if not one.items:
            return run
        known = named_by(context, run)
        if one.request in known.requests:
            return run if known.requests[one.request] == one.fingerprint else Refusal.CONFLICT
        named = known.with_more(one.items, {one.request: one.fingerprint})
        if named.is_too_many:
            return Refusal.TOO_MANY
        if named.is_too_large:
            return Refusal.TOO_LARGE
        if makes_too_many_runs(context, run.id.job, len(named.items)):
            return Refusal.TOO_MANY_RUNS
        return evolve(run, named=save_named(context, run.id, named, now))

    return change_run(context, one.run, after)
