"""Promises about tasks: each run of a job with a task uses one version, which was current when the run began."""

from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, Story
from tests.urls import url_of
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.runs.run import Run


def _a_run_keeps_the_version_that_it_began_with(story: Story) -> Iterator[str]:
    """Exceptions are runs that are retried manually, and runs of jobs that have got another task since."""
    history = story.store.history
    for write in history.runs:
        before, after = write.before, write.after
        if before is None or before.task_version is None:
            continue
        if (after.task_id, after.task_version) == (before.task_id, before.task_version):
            continue
        is_let_go = after.task_version is None and write.by.startswith("user")
        jobs = history.jobs_between(after.id.job, (after.claimed_at or 0) - MOST_SKEW_MS, write.at)
        if not is_let_go and all(job.task_id == before.task_id for job in jobs):
            yield str(write)


def _a_version_that_a_run_begins_with_is_current(story: Story) -> Iterator[str]:
    """The version was current at some time between the begin and the end of the run's claim."""
    history = story.store.history
    for write, before in history.claims():
        after = write.after
        if after.task_version is None or after.task_version == before.task_version:
            continue
        current = history.tasks_between(_task_of(after), (after.claimed_at or 0) - MOST_SKEW_MS, write.at)
        if after.task_version not in [task.version for task in current]:
            yield f"{write}; current: {[task.version for task in current]}"


def _a_call_goes_to_the_target_of_its_runs_version(story: Story) -> Iterator[str]:
    history = story.store.history
    claims = {(write.after.id, write.after.attempt): write.after for write, _ in history.claims()}
    for arrival in story.receiver.arrivals:
        run = claims.get((arrival.run, arrival.attempt))
        if run is None or run.task_id is None:
            continue
        urls = {url_of(write.after.spec.target) for write in history.of_task(_task_of(run)) if _is_of(write.after, run)}
        if arrival.url not in urls:
            yield f"{arrival}, and version {run.task_version} calls {urls}"


def _a_version_of_a_task_has_one_content(story: Story) -> Iterator[str]:
    seen: dict[object, object] = {}
    for write in story.store.history.tasks:
        if seen.setdefault(write.after.ref, write.after.spec) != write.after.spec:
            yield f"{write}, which was {seen[write.after.ref]}"


def _task_of(run: Run) -> TaskKey:
    return TaskKey(run.id.job.tenant, run.task_id or "")


def _is_of(task: object, run: Run) -> bool:
    return getattr(task, "version", None) == run.task_version


PROMISES = (
    _a_run_keeps_the_version_that_it_began_with,
    _a_version_that_a_run_begins_with_is_current,
    _a_call_goes_to_the_target_of_its_runs_version,
    _a_version_of_a_task_has_one_content,
)
