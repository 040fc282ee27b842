"""Promises about a job's ledger: one row for each fire that its schedules had, and none for any other instant."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tests.simulation.story import Story
from tests.simulation.world.history import Reign, Write
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import DAY_MS, LATEST
from timeball.domain.time.schedule import OnEvents, Schedule, fires, is_occurrence

_FURTHEST_AHEAD_MS = 10 * 7 * DAY_MS
"""How far ahead skips may write: to the next fire, again and again, of a job with a weekly fire."""


def _each_due_instant_has_one_row(story: Story) -> Iterator[str]:
    for key, job in story.store.jobs.items():
        if any(write.after.waits for write in story.store.history.of_job(key)):
            continue  # its parents' schedules decide its own: see graphs.py
        for generation in range(1, job.generation + 1):
            yield from _of_a_generation(story, job, generation)


def _of_a_generation(story: Story, job: Job, generation: int) -> Iterator[str]:
    key, ledger = job.key, _ledger(story, job.key, generation)
    reigns = _reigns(story, key, generation)
    written_to = _is_written_to(job) if generation == job.generation else 10**15
    for reign in reigns:
        if reign.schedule.max_runs is not None:
            continue
        for at in fires(reign.schedule, reign.first_at, min(reign.ended_at - 1, written_to)):
            if len(ledger[at]) != 1:
                yield f"{key.job_id} {at - reign.first_at} ms after its first fire {reign.first_at}: {ledger[at]}"
    for at, rows in ledger.items():
        if len(rows) > 1:
            yield f"{key.job_id} at {at} has several rows: {rows}"
        if not any(reign.has(at, _FURTHEST_AHEAD_MS) for reign in reigns):
            yield f"{key.job_id} at {at} is no fire of any of its schedules: {rows}"


def _reigns(story: Story, key: JobKey, generation: int) -> list[Reign]:
    return [one for one in story.store.history.reigns(key, story.ends_at) if one.generation == generation]


def _is_written_to(job: Job) -> int:
    """Return up to where a job's ledger must be written: a paused job waits."""
    return job.next_fire_at - 1 if job.status is JobStatus.PAUSED and job.next_fire_at is not None else 10**15


def _ledger(story: Story, key: JobKey, generation: int) -> dict[int, list[Run]]:
    """Return the rows of a job's schedule, in a generation, by each fire time that they cover."""
    schedules = [reign.schedule for reign in _reigns(story, key, generation)]
    covered: dict[int, list[Run]] = defaultdict(list)
    for run in story.store.runs.values():
        if (run.id.job, run.id.generation) != (key, generation) or run.id.origin is not Origin.SCHEDULE:
            continue
        if run.last_fire_at is None:
            covered[run.id.fire_at].append(run)
            continue
        for at in _fires_of_range(schedules, run):
            covered[at].append(run)
    return covered


def _fires_of_range(schedules: Sequence[Schedule], run: Run) -> list[int]:
    """Return the fires of a skipped range: those of the schedule that has exactly the row's number of fires there."""
    for schedule in schedules:
        found = list(fires(schedule, run.id.fire_at, run.last_fire_at or run.id.fire_at))
        if len(found) == run.count and found[:1] == [run.id.fire_at] and found[-1:] == [run.last_fire_at]:
            return found
    return [run.id.fire_at]


def _no_older_version_decides_about_a_superseded_run(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        if (
            write.before is not None
            and write.before.is_superseded
            and write.after.decided_at_version < write.before.decided_at_version
        ):
            yield str(write)


def _a_superseded_run_is_no_fire_of_the_newest_schedule(story: Story) -> Iterator[str]:
    """A job that is changed and changed back loses no fire: a later schedule lacks the fire of a superseded run."""
    history = story.store.history
    for run in story.store.runs.values():
        if not run.is_superseded or run.id.origin is not Origin.SCHEDULE:
            continue
        if any(write.after.waits for write in history.of_job(run.id.job)):
            continue  # its parents decide when it fires
        at = run.id.fire_at
        written_to = _written_to([one for one in history.of_job(run.id.job) if one.after.owns(run.id)])
        lacking = False
        timeless_at = [write.after.updated_at for write in history.of_job(run.id.job) if _is_timeless(write.after)]
        for reign in reversed(_reigns(story, run.id.job, run.id.generation)):
            lacking = lacking or any(reign.ended_at <= at for at in timeless_at)
            lacking = lacking or not is_occurrence(reign.schedule, at) or reign.schedule.max_runs is not None
            if not lacking and reign.has(at, -1) and at < written_to:
                yield f"{run} is a fire of {reign}"


def _written_to(writes: Sequence[Write[Job]]) -> int:
    """Return up to where a job's fires had to be planned: a paused job waits, and a cancel ends the plan."""
    last = next(
        (one.before for one in writes if one.before is not None and one.after.status is JobStatus.CANCELLED), None
    )
    job = last or writes[-1].after
    return (job.next_fire_at or LATEST) if last is not None or job.status is JobStatus.PAUSED else LATEST


def _is_timeless(job: Job) -> bool:
    """Return whether a job runs only on events."""
    return isinstance(job.spec.schedule.timing, OnEvents)


def _a_request_skips_one_fire(story: Story) -> Iterator[str]:
    """A client without an answer repeats the request under the same name. A skipped run was never claimed."""
    skipped: Counter[JobKey] = Counter()
    for run in story.store.runs.values():
        if run.reason is Reason.SKIPPED_MANUALLY:
            skipped[run.id.job] += 1
            if run.attempt > 0:
                yield f"{run} had begun"
    for key, count in skipped.items():
        if count > story.skips[key]:
            yield f"{count} fires of {key} are skipped instead of {story.skips[key]}"


PROMISES = (
    _each_due_instant_has_one_row,
    _no_older_version_decides_about_a_superseded_run,
    _a_superseded_run_is_no_fire_of_the_newest_schedule,
    _a_request_skips_one_fire,
)
