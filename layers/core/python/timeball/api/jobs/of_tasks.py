"""Jobs that name tasks: whether they fit their tasks as these are now, and how they are shown."""

from collections.abc import Iterator, Sequence

from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import FieldError
from timeball.api.jobs.request import JobRequest, named_task
from timeball.api.schemas.cpu_limit import Allowance
from timeball.api.schemas.fit import misfits
from timeball.domain.changes.resolve import resolve, resolve_spec
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Job, JobSpec
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.terms.target import Override, is_followed
from timeball.engine.execution.invocation import LONGEST_CALL_SECONDS
from timeball.engine.resolving import read_tasks, resolved
from timeball.targets.aws.allowed import too_large

Tasks = dict[TaskKey, Task]


def tasks_of(edge: ApiContext, tenant: str, requests: Sequence[JobRequest]) -> Tasks:
    """Return the tasks that requests name, as they are now; no read if none is named."""
    names = [name for request in requests if (name := named_task(request)) is not None]
    return read_tasks(edge.context, [TaskKey(tenant, name) for name in names])


def unfit_for_task(request: JobRequest, spec: JobSpec, tasks: Tasks, allowance: Allowance) -> list[FieldError]:
    """Return why a valid request cannot have the task that it names: it is missing, or does not fit the request."""
    if spec.task is None:
        return []
    task = tasks.get(TaskKey(spec.key.tenant, spec.task.task_id))
    if task is None or task.is_deleted:
        field = "handler" if request.task_id is None else "taskId"
        return [FieldError(field, "You have no task with this id; list yours at /v1/tasks.")]
    wrong = [] if task.spec.payload_schema is None else misfits(task.spec.payload_schema, request.payload, allowance)
    sentence = too_large(task.spec.target, None if spec.work is None else spec.work.payload)
    large = [] if sentence is None else [FieldError("payload", sentence)]
    return [*_beyond_the_task(spec, task), *wrong, *large]


def shown(edge: ApiContext, jobs: Sequence[Job]) -> list[Job]:
    """Return jobs with the values that they take from their tasks now."""
    return resolved(edge.context, jobs)


def seen(tasks: Tasks, job: Job) -> Job:
    """Return a job with the values that it takes from its task, one of those that were read."""
    return job if job.task_id is None else resolve(tasks.get(TaskKey(job.key.tenant, job.task_id)), job)


def _beyond_the_task(spec: JobSpec, task: Task) -> Iterator[FieldError]:
    """Yield what in a job conflicts with its task: completion, heartbeats and timeouts."""
    own = () if spec.task is None else spec.task.own
    both = resolve_spec(task, spec)
    reports = both.completion is Completion.CALLBACK
    if not reports and Override.HEARTBEAT in own:
        yield FieldError(
            Override.HEARTBEAT, "This is only valid with completion callback, of the job or of its task; leave it out."
        )
    has_time = is_followed(task.spec.target) or (reports and both.heartbeat_seconds is not None)
    if both.timeout_seconds > LONGEST_CALL_SECONDS and not has_time:
        field = Override.TIMEOUT if Override.TIMEOUT in own else Override.COMPLETION
        yield FieldError(
            field,
            f"An attempt may take {both.timeout_seconds} s; more than {LONGEST_CALL_SECONDS} s is only valid with "
            "completion callback and heartbeatSeconds.",
        )
    if both.heartbeat_seconds is not None and both.heartbeat_seconds > both.timeout_seconds:
        field = Override.HEARTBEAT if Override.HEARTBEAT in own else Override.TIMEOUT
        yield FieldError(
            field, f"heartbeatSeconds, {both.heartbeat_seconds}, is longer than timeoutSeconds, {both.timeout_seconds}."
        )
