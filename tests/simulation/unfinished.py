"""The work that is left in a story. A story goes on while there is any."""

from tests.simulation.promises.features.reckoning import waiting_for_nothing
from tests.simulation.story import Story
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState


def is_going_on(story: Story) -> bool:
    """Return whether work is left."""
    return (
        bool(unfinished(story) or unended(story) or unplanned(story) or unjoined(story))
        or any(job.intent is not None for job in story.store.jobs.values())
        or bool(with_news_for_children(story))
        or any(backfill.due_at is not None for backfill in story.store.backfills.values())
        or bool(story.bus.queue)
        or any(operation.is_running for operation in story.store.operations.values())
    )


def unfinished(story: Story) -> list[Run]:
    """Return the runs that should be over: all except those that wait for their paused job, or for another day."""
    return [
        run
        for run in story.store.past.live.values()
        if run.regular_at <= story.ends_at and not _is_paused(story, run) and not (run.waits and run.fan is None)
    ]


def unjoined(story: Story) -> list[str]:
    """Return the faults of jobs, and of runs of cycles, that wait for others."""
    due = [run for run in story.store.past.live.values() if run.id.fire_at <= story.ends_at]
    return waiting_for_nothing(story.store.jobs, story.store.runs, due)


def with_news_for_children(story: Story) -> list[Job | Run]:
    """Return the jobs and runs that have not notified their children. A withdrawn run does so after its resume."""
    jobs = [job for job in story.store.jobs.values() if job.must_notify_children]
    due = [run for run in story.store.past.live.values() if run.id.fire_at <= story.ends_at]
    return [*jobs, *(run for run in due if run.must_notify_children and run.state is RunState.QUEUED)]


def unended(story: Story) -> list[tuple[Job, Run]]:
    """Return the jobs whose final run is over, and that run, except for jobs that end later.

    Jobs that end later are those that are not yet planned to their end, and paused recurring jobs.
    """
    found = []
    for job in story.store.jobs.values():
        if job.final_fire_at is None or job.status not in (JobStatus.PENDING, JobStatus.PAUSED):
            continue
        final = story.store.runs.get(job.run_id(job.final_fire_at))
        waits = job.next_fire_at is not None or (job.status is JobStatus.PAUSED and not job.spec.schedule.is_one_off)
        if final is not None and final.is_terminal and not waits:
            found.append((job, final))
    return found


def unplanned(story: Story) -> list[Job]:
    """Return the jobs whose ledger is not written as far as it should be."""
    return [
        job
        for job in story.store.jobs.values()
        if job.status is JobStatus.PENDING and not job.waits
        if job.next_fire_at is not None and job.next_fire_at <= story.ends_at
    ]


def _is_paused(story: Story, run: Run) -> bool:
    return run.is_unstarted and story.store.jobs[run.id.job].status is JobStatus.PAUSED
