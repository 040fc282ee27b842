"""The values that a run uses: its trigger's values come before its job's, and its job's before its task's.

Invariant: this is the only module that merges them. A job's row says which task it names and what it sets itself; a
resolved job is only read and never stored.
"""

import json
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Job, JobSpec
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import Override

EVENT_MEMBER: Final = "event"
"""The member of a payload that holds the event of a fire."""


def version_for(run: Run, job: Job) -> TaskRef | None:
    """Return the version of its job's task that a run uses: the one that it has fixed, if the job names the same task.

    None: the job has no task.
    """
    if job.task_id is None:
        return None
    return TaskRef(TaskKey(job.key.tenant, job.task_id), run.task_version if run.task_id == job.task_id else None)


def resolve(task: Task | None, job: Job, trigger: Work | None = None, event: Work | None = None) -> Job:
    """Return a job as a run of it sees it: with a version of its task, with the run's own payload, and with its event.

    The target always comes from the task: a job with a target of its own names no task. A job that was read without its
    work stays without it.
    """
    spec = job.spec
    if spec.work is not None and trigger is not None:
        spec = evolve(spec, work=evolve(spec.work, payload=trigger.payload))
    if spec.work is not None and event is not None:
        spec = evolve(spec, work=with_event(spec.work, event))
    spec = resolve_spec(task, spec)
    return job if spec is job.spec else evolve(job, spec=spec)


def with_event(work: Work, event: Work) -> Work:
    """Return work whose payload includes an event, which is another work's payload.

    The payload of a job that needs events is an object without an `event`. A person may have retried the run with
    another event, or with a payload that is no object: such a payload stays as it is.
    """
    text = "{}" if work.payload in (None, "null") else work.payload.strip()
    own = json.loads(text)
    if not isinstance(own, dict) or EVENT_MEMBER in own:
        return work
    return evolve(work, payload=f'{text[:-1]}{"," if own else ""}"{EVENT_MEMBER}":{event.payload}}}')


def resolve_spec(task: Task | None, spec: JobSpec) -> JobSpec:
    """Return a spec completed by a version of its task; the same spec if there is nothing to complete."""
    use = spec.task
    if use is None or task is None:
        return spec
    said, own = task.spec, use.own
    retry = spec.retry if Override.RETRY_POLICY in own else said.retry
    max_retries = spec.retry.max_retries if Override.MAX_RETRIES in own else said.retry.max_retries
    completion = spec.completion if Override.COMPLETION in own else said.completion
    heartbeat_seconds = spec.heartbeat_seconds if Override.HEARTBEAT in own else said.heartbeat_seconds
    return evolve(
        spec,
        task=evolve(use, version=task.version, life_ms=task.life_ms),
        work=None if spec.work is None else evolve(spec.work, target=said.target),
        priority=spec.priority if Override.PRIORITY in own else said.priority,
        retry=evolve(retry, max_retries=max_retries),
        timeout_seconds=spec.timeout_seconds if Override.TIMEOUT in own else said.timeout_seconds,
        completion=completion,
        heartbeat_seconds=heartbeat_seconds if completion is Completion.CALLBACK else None,
    )
