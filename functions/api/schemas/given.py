"""A payload that a person gives a run must fit the schema that the task of its job has now."""

from functions.api.http.edge import Edge
from functions.api.http.problems import invalid
from functions.api.schemas.cpu_limit import Allowance
from functions.api.schemas.fit import misfits
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.engine.tasks.resolving import read_tasks


def refuse_misfit(edge: Edge, job_key: JobKey, payload: object) -> None:
    """Raise ProblemError that names each place where a payload does not fit; a job without a task takes any."""
    job = edge.context.store.jobs.read([job_key])[0]
    if job is None or job.task_id is None:
        return
    key = TaskKey(job_key.tenant, job.task_id)
    task = read_tasks(edge.context, [key]).get(key)
    if task is not None and task.spec.payload_schema is not None:
        wrong = misfits(task.spec.payload_schema, payload, Allowance())
        if wrong:
            raise invalid(wrong)
