"""A payload for a single run must fit what its job calls now: the task's schema, and the target's size limit."""

from collections.abc import Iterator

from timeball.api.http.body import compact
from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import FieldError, invalid
from timeball.api.schemas.cpu_limit import Allowance
from timeball.api.schemas.fit import misfits
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task
from timeball.engine.resolving import read_tasks
from timeball.targets.aws.allowed import fits_all, too_large


def refuse_misfit(edge: ApiContext, job_key: JobKey, payload: object) -> None:
    """Raise ProblemError that names each path at which a payload does not match, or says that it is too large."""
    text = compact(payload)
    is_small = fits_all(text)  # every target accepts this size, so the job is read without its target
    job = edge.context.store.jobs.read([job_key], with_work=not is_small)[0]
    if job is None:
        return
    task = None if job.task_id is None else _task(edge, TaskKey(job_key.tenant, job.task_id))
    wrong = [*_against_schema(task, payload), *([] if is_small else _against_target(task, job, text))]
    if wrong:
        raise invalid(wrong)


def _task(edge: ApiContext, key: TaskKey) -> Task | None:
    return read_tasks(edge.context, [key]).get(key)


def _against_schema(task: Task | None, payload: object) -> list[FieldError]:
    if task is None or task.spec.payload_schema is None:
        return []
    return misfits(task.spec.payload_schema, payload, Allowance())


def _against_target(task: Task | None, job: Job, payload: str) -> Iterator[FieldError]:
    if task is not None:
        target = task.spec.target
    elif job.spec.work is not None:
        target = job.spec.work.target
    else:
        return
    sentence = too_large(target, payload)
    if sentence is not None:
        yield FieldError("payload", sentence)
