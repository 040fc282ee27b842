"""Promises about events: each event makes one run of each job that listens, and none of any other job.

For a job that also has a schedule, it waits for a fire instead: each such fire begins with one event, or is skipped.

The check matches the job's own pattern, and not its rule on the bus.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from tests.patterns import matches
from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.bus import Put
from tests.simulation.world.history import Write
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.event import Event, WaitingEvent, name_of_event, on_the_bus
from timeball.domain.time.instants import LATEST, MINUTE_MS

_CLAIM_MS: Final = MINUTE_MS
"""No claim reads rows that long before it writes."""


def _listens(job: Job, event: Event) -> bool:
    pattern = job.spec.event
    is_meant = job.is_open and pattern is not None and job.key.tenant == event.tenant
    return is_meant and matches(pattern or "", json.loads(on_the_bus(event)))


def _runs(story: Story) -> list[Run]:
    """Return the runs that events made; not those of other jobs in the cycles that these began."""
    of_events = (run for run in story.store.runs.values() if run.id.origin is Origin.EVENT)
    return [run for run in of_events if run.root is None or run.begins_cycle]


def _puts(story: Story) -> dict[tuple[str, str], list[Put]]:
    puts: dict[tuple[str, str], list[Put]] = defaultdict(list)
    for put in story.bus.puts:
        puts[put.name].append(put)
    return puts


def _jobs_since(story: Story, run: Run, puts: list[Put]) -> list[Job]:
    """Return each version of a run's job since its event was put first, until the run was inserted."""
    from_at = puts[0].at if puts else 0
    return story.store.history.jobs_between(run.id.job, from_at, story.store.history.of_run(run.id)[0].at)


def _an_event_makes_a_run_of_each_job_that_listens(story: Story) -> Iterator[str]:
    """This holds for jobs that listened, with one pattern, from before the event until its last message was processed.

    Events that the bus itself has lost make no run. Events of jobs that also have a schedule wait for a fire.
    """
    made = {(run.id.job, run.id.series, False) for run in _runs(story)}
    heard = made | {(row.key.job, row.key.name.rpartition(".")[2], True) for row in story.store.waiting_events.values()}
    history = story.store.history
    for put in story.bus.puts:
        if put in story.bus.lost:
            continue
        until = max(put.at, story.bus.done_at[put.name])
        for key in story.store.jobs:
            if history.job_at(key, put.at - 1) is None:
                continue
            jobs = history.jobs_between(key, put.at - 1, until)
            kinds = {(job.spec.event, job.spec.needs_events) for job in jobs}
            if len(kinds) > 1 or (key, put.name[1], jobs[0].spec.needs_events) in heard:
                continue
            if all(_listens(job, put.event) for job in jobs):
                yield f"{put} made no run of {key.job_id}"


def _a_run_on_an_event_is_of_a_job_that_listened(story: Story) -> Iterator[str]:
    puts = _puts(story)
    for run in _runs(story):
        of_event = puts[run.id.job.tenant, run.id.series]
        if not of_event or not any(_listens(job, of_event[0].event) for job in _jobs_since(story, run, of_event)):
            yield f"{run} for {of_event}"


def _an_event_makes_no_two_runs_of_a_job(story: Story) -> Iterator[str]:
    counts: Counter[tuple[JobKey, str]] = Counter((run.id.job, run.id.series) for run in _runs(story))
    for named, count in counts.items():
        if count > 1:
            yield f"{count} runs of {named}"


def _a_run_on_an_event_is_called_with_that_event(story: Story) -> Iterator[str]:
    sent = {
        (tenant, name_of_event(event)): event
        for tenant, (event,), _ in (done.asked[1:] for done in story.done if done.verb == "publish")
    }
    calls = story.receiver.calls()
    for run_id, arrivals in ((run.id, calls.get(run.id, ())) for run in _runs(story)):
        wanted = sent.get((run_id.job.tenant, run_id.series))
        for arrival in arrivals if wanted is not None else ():
            if json.loads(arrival.payload or "null") != wanted:
                yield f"{run_id} was called with {arrival.payload} for {wanted}"


def _an_event_of_a_paused_job_is_skipped_and_of_no_other(story: Story) -> Iterator[str]:
    puts = _puts(story)
    for run in _runs(story):
        first = story.store.history.of_run(run.id)[0].after
        statuses = {job.status for job in _jobs_since(story, run, puts[run.id.job.tenant, run.id.series])}
        is_skipped = first.state is RunState.SKIPPED and first.reason is Reason.JOB_PAUSED
        if (JobStatus.PAUSED if is_skipped else JobStatus.PENDING) not in statuses:
            yield f"{first} while its job was {', '.join(statuses)}"


def _a_run_on_an_event_is_of_its_generation(story: Story) -> Iterator[str]:
    puts = _puts(story)
    for run in _runs(story):
        for put in puts[run.id.job.tenant, run.id.series][:1]:
            if run.depth != max(put.event.depth, story.store.jobs[run.id.job].depth):
                yield f"{run} of generation {run.depth} for {put}"


def _an_event_that_was_taken_is_on_the_bus(story: Story) -> Iterator[str]:
    puts = _puts(story)
    for done in story.done:
        if done.verb == "publish" and (done.answer.tenant, name_of_event(done.answer.attributes)) not in puts:
            yield f"{done.answer} was taken at {done.at}"


def _fires_that_need_events(story: Story) -> Iterator[tuple[Write[Run], bool]]:
    """Yield the last decision about each fire of a job that needed events: the write, and whether the fire began."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or after.id.origin is not Origin.SCHEDULE or before.attempt:
            continue
        is_without = after.reason is Reason.NO_EVENT and before.reason is not Reason.NO_EVENT
        jobs = story.store.history.jobs_between(after.id.job, write.at - MOST_SKEW_MS, write.at)
        if (after.attempt or is_without) and all(job.spec.needs_events for job in jobs):
            yield write, after.attempt > 0


def _accepted_at(row: WaitingEvent) -> int:
    return LATEST - int(row.key.name.split(".")[2])


def _a_fire_that_needs_an_event_begins_with_an_earlier_one(story: Story) -> Iterator[str]:
    rows = {(row.key.job, row.digest): row for row in story.store.waiting_events.values()}
    for write, has_begun in _fires_that_need_events(story):
        run = write.after
        event = rows.get((run.id.job, run.event_digest or ""))
        if has_begun and (event is None or _accepted_at(event) >= run.id.fire_at):
            yield f"{run.id} began with {event}"


def _no_event_lets_two_fires_begin(story: Story) -> Iterator[str]:
    """An event that was sent again after its job got another pattern counts for that one, too."""
    used = Counter(
        (write.after.id.job, write.after.event_digest) for write, begun in _fires_that_need_events(story) if begun
    )
    for (key, event), count in used.items():
        if count > len({write.after.spec.event for write in story.store.history.of_job(key)}):
            yield f"{count} fires of {key.job_id} began with {event}"


def _a_fire_is_skipped_only_if_no_event_is_left_for_it(story: Story) -> Iterator[str]:
    """Each event that the job had heard by then, from before the fire, is used, or older than one that is."""
    used: dict[JobKey, list[tuple[int, RunId]]] = defaultdict(list)
    for row in story.store.waiting_events.values():
        if row.used_by is not None:
            used[row.key.job].append((_accepted_at(row), row.used_by))
    history = story.store.history
    for write, has_begun in _fires_that_need_events(story):
        run = write.after
        for put in () if has_begun else story.bus.puts:
            at, heard_at = put.event.accepted_at, story.bus.done_at.get(put.name, 0)
            is_due = put not in story.bus.lost and at < run.id.fire_at and 0 < heard_at < write.at - _CLAIM_MS
            if not is_due or history.job_at(run.id.job, put.at - 1) is None:
                continue
            jobs = history.jobs_between(run.id.job, put.at - 1, write.at)
            kinds = {(job.spec.event, job.spec.needs_events, job.generation) for job in jobs}
            is_left = not any(at <= other < run.id.fire_at and by != run.id for other, by in used[run.id.job])
            if len(kinds) == 1 and all(_listens(job, put.event) for job in jobs) and is_left:
                yield f"{run.id} was skipped, and {put} is left"


PROMISES = (
    _a_fire_that_needs_an_event_begins_with_an_earlier_one,
    _no_event_lets_two_fires_begin,
    _a_fire_is_skipped_only_if_no_event_is_left_for_it,
    _an_event_makes_a_run_of_each_job_that_listens,
    _a_run_on_an_event_is_of_a_job_that_listened,
    _an_event_makes_no_two_runs_of_a_job,
    _a_run_on_an_event_is_called_with_that_event,
    _an_event_of_a_paused_job_is_skipped_and_of_no_other,
    _a_run_on_an_event_is_of_its_generation,
    _an_event_that_was_taken_is_on_the_bus,
)
