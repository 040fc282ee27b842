"""Promises about repeated work: one job per unique key, each trigger in one run, no start despite a newer run.

They are checked by what was written and answered.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, Done, Story
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.changes.history import ChangeFilter, list_changes
from timeball.engine.context import Context
from timeball.engine.runs.trigger import Triggering
from timeball.testing.recorders import KeptTelemetry

_ALL = 100_000

_REPLACES = frozenset({Origin.SCHEDULE, Origin.MANUAL, Origin.EVENT})


def _a_job_with_a_unique_key_is_the_one_that_it_names(story: Story) -> Iterator[str]:
    named = {(one.key.tenant, one.job_id) for _, _, one in story.store.history.named}
    for key, job in story.store.jobs.items():
        if job.spec.flow.unique is not None and (key.tenant, key.job_id) not in named:
            yield f"{key} has a key that never named it"


def _a_key_names_another_job_only_when_the_one_before_has_given_it_back(story: Story) -> Iterator[str]:
    for at, before, after in story.store.history.named:
        if before is None or before.job_id == after.job_id:
            continue
        job = story.store.history.job_at(JobKey(before.key.tenant, before.job_id), at)
        is_out = before.until is not None and before.until <= at + MOST_SKEW_MS
        if not (is_out if job is None else _is_given_back(story, job, at)):
            yield f"{before} stood for {job}, and then {after} came"


def _is_given_back(story: Story, job: Job, at: int) -> bool:
    """Return whether a job no longer stood for its key. The window is the job's own, whichever request was first."""
    if job.status is JobStatus.CANCELLED:
        return True
    unique = job.spec.flow.unique
    seconds = None if unique is None else unique.seconds
    is_out = seconds is not None and job.created_at + seconds * SECOND_MS <= at + MOST_SKEW_MS
    is_over = not job.is_open
    if job.spec.flow.debounce is not None:
        runs = [story.store.history.run_at(run, at) for run in story.store.history.runs_of(job.key)]
        has_begun = any(run is not None and (run.attempt > 0 or run.is_terminal) for run in runs)
        return (is_over or has_begun) and (seconds is None or is_out)
    return is_over if seconds is None else is_out


def _a_run_collects_until_it_begins(story: Story) -> Iterator[str]:
    for at, before, after in _collecting(story):
        if before.attempt or before.budget_at is not None or before.is_terminal:
            yield f"{at}: {before} took one more in: {after}"


def _a_run_waits_while_it_collects_triggers(story: Story) -> Iterator[str]:
    """The wait counts from the request, as the log of changes shows it, and lasts no longer than the job allows."""
    asked = _asked(story)
    for at, before, after in _collecting(story):
        job = story.store.history.job_at(before.id.job, at)
        debounce = None if job is None else job.spec.flow.debounce
        if debounce is None or after.collected is None:
            continue
        latest_at, wait_ms = after.collected.since + debounce.max_seconds * SECOND_MS, debounce.seconds * SECOND_MS
        starts = {max(before.not_before, min(one + wait_ms, latest_at)) for one in asked[str(before.id)]}
        if after.not_before not in starts:
            yield f"{after} should start at one of {starts}"


def _asked(story: Story) -> dict[str, set[int]]:
    """Return when requests asked runs to collect one more."""
    context = Context(story.store, story.queue, story.clock, story.rules, KeptTelemetry())
    asked: dict[str, set[int]] = defaultdict(set)
    for tenant in {key.tenant for key in story.store.jobs}:
        for one in list_changes(context, ChangeFilter(tenant), _ALL).items:
            if one.action is Action.COLLECT:
                asked[one.resource.id].add(one.at)
    return asked


def _an_acknowledged_trigger_is_in_its_run_once(story: Story) -> Iterator[str]:
    acknowledged: dict[RunId, set[str]] = defaultdict(set)
    told: Counter[tuple[JobKey, str]] = Counter()
    for done in _pushes(story):
        run = done.answer.run
        if run is not None and run.collected is not None and done.answer.outcome is not Triggering.CONFLICT:
            acknowledged[run.id].add(done.asked[0][0].fingerprint)
    for run_id, pushes in acknowledged.items():
        if _count(story.store.runs.get(run_id)) < len(pushes):
            yield f"{story.store.runs.get(run_id)} lacks some of {pushes}"
    for run in story.store.runs.values():
        told.update((run.id.job, one) for one in (run.collected.requests if run.collected else ()))
    yield from (f"{one} is in {count} runs, or twice in one" for one, count in told.items() if count > 1)


def _a_submit_is_in_the_job_that_answers_it(story: Story) -> Iterator[str]:
    """For jobs that collect for no window: each request that was answered with a job is counted in the job's run."""
    answered: Counter[JobKey] = Counter()
    for done in story.done:
        if done.verb == "unique":
            _, job = done.answer
            if job.key not in story.store.jobs:
                yield f"{job.key} is gone"
            flow = job.spec.flow
            answered[job.key] += flow.debounce is not None and flow.unique.seconds is None
    for key, count in answered.items():
        most = max((_count(run) for run in story.store.runs.values() if run.id.job == key), default=0)
        if count > most and story.store.jobs[key].status is not JobStatus.CANCELLED:
            yield f"{count} submits were answered with {key}, and {most} are in its run"


def _no_run_starts_after_it_found_a_newer_run(story: Story) -> Iterator[str]:
    """Each start of such a job follows a search for newer runs, which found none whose time had come."""
    history = story.store.history
    for write, run in history.claims():
        job = history.job_at(run.id.job, write.at)
        if job is None or not job.spec.flow.supersede or run.attempt or run.budget_at is not None:
            continue
        if run.id.origin not in _REPLACES:
            continue
        looks = [one for one in history.looks[write.by, run.id.job, run.id.fire_at] if one[0] <= write.at]
        if not looks:
            yield f"{write} started without a search for newer runs"
            continue
        ids = history.runs_of(run.id.job)
        if all(any(_is_newer(story, one, run, *look) for one in ids) for look in looks):
            yield f"{write} started although a newer run had come by {looks}"


def _is_newer(story: Story, other: RunId, run: Run, at: int, asked_up_to: int) -> bool:
    row = story.store.history.run_at(other, at - 1)  # within one millisecond its insert may follow the search
    if row is None or row.last_fire_at is not None or row.id.origin not in _REPLACES or other.fire_at < run.id.fire_at:
        return False
    is_none = row.state in (RunState.SKIPPED, RunState.CANCELLED)
    has_come = row.regular_at <= asked_up_to
    return not is_none and has_come and (row.regular_at, row.id) > (run.regular_at, run.id)


def _collecting(story: Story) -> Iterator[tuple[int, Run, Run]]:
    for write in story.store.history.runs:
        if write.before is not None and _count(write.before) < _count(write.after):
            yield write.at, write.before, write.after


def _count(run: Run | None) -> int:
    return 0 if run is None or run.collected is None else run.collected.count


def _pushes(story: Story) -> Iterator[Done]:
    return (done for done in story.done if done.verb == "push")


PROMISES = (
    _a_job_with_a_unique_key_is_the_one_that_it_names,
    _a_key_names_another_job_only_when_the_one_before_has_given_it_back,
    _a_run_collects_until_it_begins,
    _a_run_waits_while_it_collects_triggers,
    _an_acknowledged_trigger_is_in_its_run_once,
    _a_submit_is_in_the_job_that_answers_it,
    _no_run_starts_after_it_found_a_newer_run,
)
