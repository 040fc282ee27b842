"""Tasks, and jobs that name them."""

from dataclasses import replace

from tests.engine.play import NOW, Play, spec
from tests.urls import url_of
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.task import Task, TaskSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import Jitter, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, Override, TaskUse
from timeball.domain.time.schedule import At
from timeball.engine.tasks import TaskOutcome, create_task, revise_task

KEY, TASK = JobKey("acme", "job"), TaskKey("acme", "mail")
SAYS = TaskSpec(
    TASK,
    HttpTarget("https://one.example/hook"),
    retry=RetryPolicy(max_retries=2, base_seconds=5, jitter=Jitter.NONE),
    timeout_seconds=60,
)


def of_task(*own: Override, at: int = NOW, name: str = "job", task: str = "mail") -> JobSpec:
    return replace(spec(name, At(at)), work=Work(payload='{"n": 1}'), task=TaskUse(task, own))


def put(play: Play, url: str = "https://two.example/hook", **changes: object) -> Task:
    """Change the task's URL, or other fields, as its user does."""
    (standing,) = play.store.tasks.read([TASK])
    wanted = replace(SAYS, target=HttpTarget(url), **changes)  # type: ignore[arg-type]
    done = create_task(play.context(), wanted) if standing is None else revise_task(play.context(), standing, wanted)
    assert done.outcome in (TaskOutcome.CREATED, TaskOutcome.DONE)
    assert done.task is not None
    return done.task


def begin(*own: Override, at: int = NOW, **changes: object) -> tuple[Play, Job]:
    """Begin with a task that calls https://one.example, and a job that names it."""
    play = Play()
    put(play, url_of(SAYS.target), **changes)
    (job,) = play.store_jobs([of_task(*own, at=at)])
    return play, job


def urls(play: Play) -> list[str]:
    return [url_of(call.work.target).removeprefix("https://").partition(".")[0] for _, call in play.caller.calls]


def the_run(play: Play) -> Run:
    (run,) = play.runs(KEY)
    return run
