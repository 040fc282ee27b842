"""Tasks, and users who change, delete and recreate them while runs of their jobs are under way."""

from dataclasses import replace

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.receiver import HOSTS, REPORTS_LATER
from timeball.domain.changes.resolve import resolve, version_for
from timeball.domain.model.ids import JobKey, RunId, TaskKey
from timeball.domain.model.jobs.job import Completion, Job, JobSpec, Priority
from timeball.domain.model.jobs.task import Task, TaskSpec
from timeball.domain.model.terms.policies import TASKS_TARGET, RetryPolicy
from timeball.domain.model.terms.target import HttpTarget, Override, TaskUse
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.tasks import create_task, delete_task, revise_task
from timeball.ports.errors import UnavailableError

_KEYS = [TaskKey(tenant, name) for tenant in ("user-1", "user-2") for name in ("mail", "report")]
_OWN = (Override.PRIORITY, Override.MAX_RETRIES, Override.RETRY_POLICY, Override.TIMEOUT)
_OF_TASKS = 0.6


async def keep_tasks(story: Story) -> None:
    """Create each task, then change one after the other during the storm."""
    draw, client = story.task_draw, Client(story, story.new_process("keeper"))
    pending = [*_KEYS]
    while story.clock.now() < story.storm_ends_at:
        key = pending.pop() if pending else draw.choice(_KEYS)
        about = JobKey(key.tenant, key.task_id)
        standing = await _read(client, key)
        if standing is None:
            await client.request("create task", about, create_task, _said(story, key))
        elif draw.random() < 0.1:
            await client.request("delete task", about, delete_task, key)
        else:
            await client.request("revise task", about, revise_task, standing, _said(story, key))
        await client.process.sleep_until(client.process.now() + draw.randrange(100, 200 if pending else 8_000))


def of_task(story: Story, spec: JobSpec) -> JobSpec:
    """Return a job as a user wants it: it often names a task, and its own overrides of policies are drawn, too."""
    draw = story.task_draw
    names = [key.task_id for key in story.store.tasks if key.tenant == spec.key.tenant]
    if not names or spec.work is None or draw.random() > _OF_TASKS:
        return spec
    own = tuple(name for name in _OWN if draw.random() < 0.2)
    return replace(spec, work=replace(spec.work, target=TASKS_TARGET), task=TaskUse(draw.choice(names), own))


def seen_by(story: Story, run_id: RunId) -> Job:
    """Return the job of a run as the run sees it, by the run's row."""
    run, job = story.store.runs[run_id], story.store.jobs[run_id.job]
    ref = version_for(run, job)
    return job if ref is None else resolve(story.store.tasks.version(ref), job)


async def _read(client: Client, key: TaskKey) -> Task | None:
    while True:
        try:
            return (await client.process.run(client.context.store.tasks.read, [key]))[0]
        except UnavailableError:
            await client.process.sleep_until(client.process.now() + SECOND_MS)


def _said(story: Story, key: TaskKey) -> TaskSpec:
    """Return a task as a user wants it. No two have the same target."""
    draw = story.task_draw
    later = draw.random() < 0.3
    url = REPORTS_LATER if later else f"https://{draw.choice(HOSTS)}/hook"
    return TaskSpec(
        key,
        HttpTarget(f"{url}?of={draw.randrange(10**9)}"),
        priority=draw.choice((Priority.NORMAL, *Priority)),
        retry=RetryPolicy(draw.choice((0, 2, 3)), 2, max_seconds=20, max_age_seconds=draw.choice((None, None, 10))),
        timeout_seconds=draw.choice((5, 60)),
        completion=Completion.CALLBACK if later else Completion.ANSWER,
        heartbeat_seconds=draw.choice((None, 5, 10)) if later else None,
    )
