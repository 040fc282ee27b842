"""Promises about events: each event makes one run of each job that listens, and none of any other job.

The check matches the job's own pattern, and not its rule on the bus.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.patterns import matches
from tests.simulation.story import Story
from tests.simulation.world.bus import Put
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.event import Event, name_of_event, on_the_bus


def _listens(job: Job, event: Event) -> bool:
    pattern = job.spec.event
    is_meant = job.is_open and pattern is not None and job.key.tenant == event.tenant
    return is_meant and matches(pattern or "", json.loads(on_the_bus(event)))


def _runs(story: Story) -> list[Run]:
    return [run for run in story.store.runs.values() if run.id.origin is Origin.EVENT]


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

    Events that the bus itself has lost make no run.
    """
    heard = {(run.id.job, run.id.series) for run in _runs(story)}
    history = story.store.history
    for put in story.bus.puts:
        if put in story.bus.lost:
            continue
        until = max(put.at, story.bus.done_at[put.name])
        for key in story.store.jobs:
            if history.job_at(key, put.at - 1) is None or (key, put.name[1]) in heard:
                continue
            jobs = history.jobs_between(key, put.at - 1, until)
            if len({job.spec.event for job in jobs}) == 1 and all(_listens(job, put.event) for job in jobs):
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
    for run_id, arrivals in story.receiver.calls().items():
        wanted = sent.get((run_id.job.tenant, run_id.series)) if run_id.origin is Origin.EVENT else None
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


PROMISES = (
    _an_event_makes_a_run_of_each_job_that_listens,
    _a_run_on_an_event_is_of_a_job_that_listened,
    _an_event_makes_no_two_runs_of_a_job,
    _a_run_on_an_event_is_called_with_that_event,
    _an_event_of_a_paused_job_is_skipped_and_of_no_other,
    _a_run_on_an_event_is_of_its_generation,
    _an_event_that_was_taken_is_on_the_bus,
)
