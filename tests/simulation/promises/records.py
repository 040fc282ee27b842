"""Promises about records: users' changes are recorded exactly as they were written, whatever process died meanwhile.

Metrics of runs count no more than was written: a process that dies before it counts a write leaves it uncounted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

from tests.simulation.story import Story
from tests.simulation.world.history import Write
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.revision import ChangeEntry, outline, revision_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import NO_ACTOR, Action
from timeball.domain.time.schedule import At, Schedule
from timeball.domain.usage.bill import Counted
from timeball.domain.usage.spending import spent_by
from timeball.engine.changes.history import ChangeFilter, list_changes, list_revisions
from timeball.engine.context import Context
from timeball.engine.metrics import Metric
from timeball.testing.recorders import KeptTelemetry

_ALL = 10_000


def _each_change_has_an_actor_and_a_revision(story: Story) -> Iterator[str]:
    """One user made each version of a job, and each trigger. The log has them all, as they were written."""
    context = Context(story.store, story.queue, story.clock, story.rules, KeptTelemetry())
    made = Counter([*_made(story)])
    tenants = {key.tenant for key in story.store.jobs}
    logged = [_told(name, one) for name in tenants for one in _changes(context, name)]
    told = Counter(logged)
    for one in made.keys() | told.keys():
        if made[one] == told[one]:
            continue
        yield f"{one} was done {made[one]} times, and recorded {told[one]} times"
    jobs = [job for job in story.store.jobs.values() if job.spec.notice is None]
    of_jobs = [(job, one) for job in jobs for one in list_revisions(context, job, _ALL)[0]]
    revisions = Counter(_told(job.key.tenant, one) for job, one in of_jobs)
    if revisions != Counter(one for one in logged if Action.TRIGGER not in one):
        yield "the jobs' revisions are not those of the log"
    for job, entry in of_jobs:
        by_itself = entry.action is Action.PAUSE and job.spec.pause_after_failures
        if entry.by == NO_ACTOR and story.users and not by_itself:  # the users of a meeting have no keys
            yield f"no user made version {entry.revision} of {job.key.job_id}"


def _made(story: Story) -> Iterator[tuple[Any, ...]]:
    for key, row in story.store.jobs.items():
        if row.spec.notice is not None:
            continue  # no user made this write
        before = None
        for write in story.store.history.of_job(key):
            job = write.after
            if write.before is None or write.before.version != job.version:
                spec = _asked(outline(revision_of(job)).spec)
                yield key, job.change.at, job.change.action, job.change.by, job.version, before, spec
                before = spec
    for run in story.store.runs.values():
        if run.id.origin is Origin.MANUAL and (run.root is None or run.begins_cycle):
            yield run.id.job, run.created_at, Action.TRIGGER, run.triggered_by, str(run.id), None, None


def _asked(spec: JobSpec) -> str:
    """Return the job that a user wanted. The schedule of a job with parents is left out, because they may change it."""
    return repr(evolve(spec, schedule=Schedule(At(0))) if spec.depends_on else spec)


def _told(tenant: str, entry: ChangeEntry) -> tuple[Any, ...]:
    specs = [None if one is None else _asked(one.spec) for one in (entry.before, entry.after)]
    job = JobKey(tenant, entry.resource.job_id)
    return job, entry.at, entry.action, entry.by, entry.revision or entry.resource.id, *specs


def _no_run_is_counted_twice(story: Story) -> Iterator[str]:
    """Of two processes that would end a run in the same way, only the one whose write is done counts the end."""
    moves = [(write.before, write.after) for write in story.store.history.runs if write.before is not None]
    told = story.telemetry
    dead = sum(count for (name, _), count in told.counts.items() if name == Metric.DEAD_LETTERS)
    for counted, happened, what in (
        (
            told.totals[Metric.RUNS_STARTED],
            sum(before.first_started_at is None is not after.first_started_at for before, after in moves),
            "started",
        ),
        (
            told.totals[Metric.RUNS_SUCCEEDED],
            sum(after.state is RunState.SUCCEEDED is not before.state for before, after in moves),
            "succeeded",
        ),
        (
            sum(count for (name, _), count in told.counts.items() if name == Metric.FIRES_SKIPPED),
            sum(write.after.count for write in story.store.history.runs if _skips(write)),
            "were skipped",
        ),
        (dead, sum(after.is_dead_letter and not before.is_dead_letter for before, after in moves), "died"),
        (
            told.totals[Counted.WRITE_UNITS],
            sum(after.spent.beyond(before.spent).write_units for before, after in moves)
            + sum(spent_by(write.after).write_units for write in story.store.history.runs if _skips(write)),
            "cost a write unit each",
        ),
    ):
        if counted > happened:
            yield f"{happened} runs {what}, and {counted} were counted"


def _the_cost_of_a_run_only_grows(story: Story) -> Iterator[str]:
    """An attempt's end adds to the cost of the attempts before it, and every writer of the row keeps the sum."""
    for write in story.store.history.runs:
        before = write.after.spent if write.before is None else write.before.spent
        if any(part < 0 for part in astuple(write.after.spent.beyond(before))):
            yield f"{write.after.id} had cost {before}, and then {write.after.spent}"


def _skips(write: Write[Run]) -> bool:
    """Return whether a write skips fires. A row that was skipped before may get a new reason, or be part of a rerun."""
    before, after = write.before, write.after
    is_again = (
        before is not None and before.last_fire_at is not None and after.decided_at_version > before.decided_at_version
    )
    is_new = before is None or is_again or (before.state, before.reason) != (after.state, after.reason)
    return after.state is RunState.SKIPPED and is_new


def _changes(context: Context, tenant: str) -> list[ChangeEntry]:
    """Return what the log shows of changes done; for retried runs it shows the requests, which are left out."""
    logged = list_changes(context, ChangeFilter(tenant), _ALL).items
    return [one for one in logged if one.revision or one.action not in (Action.RETRY, Action.RERUN, Action.COLLECT)]


PROMISES = (_each_change_has_an_actor_and_a_revision, _no_run_is_counted_twice, _the_cost_of_a_run_only_grows)
