"""What the API answers about jobs that depend on others."""

from typing import Any, Literal

from pydantic import Field

from functions.api.http.reply import Answer
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.terms.dependency import Blocked, TriggerRule


class BlockedAnswer(Answer):
    """The run that has failed for good, without which a job does not run. Retry or replay it, or mark it succeeded."""

    run_id: str
    job_id: str = Field(description="The job of that run.")
    path: list[str] = Field(description="Ids from that job to this one; of a long path the first and the last.")


def blocked_answer(blocked: Blocked | None, job_id: str) -> BlockedAnswer | None:
    """Return the answer about what blocks a job."""
    if blocked is None:
        return None
    return BlockedAnswer(run_id=str(blocked.by), job_id=blocked.by.job.job_id, path=[*blocked.path, job_id])


class NodeAnswer(Answer):
    """A job of a graph."""

    job_id: str
    name: str | None
    status: JobStatus | Literal["running"]
    depends_on: list[str] = Field(description="The ids of the jobs that it waits for.")
    trigger_rule: TriggerRule | None = Field(description="Of a job that depends on others.")
    blocked_by: BlockedAnswer | None


class GraphAnswer(Answer):
    """The jobs that a job depends on and those that depend on it, also through others; the nearest first."""

    job: NodeAnswer
    ancestors: list[NodeAnswer]
    descendants: list[NodeAnswer]
    is_cut: bool = Field(description="Whether there are more than are shown.")


def node_answer(job: Job, status: str) -> NodeAnswer:
    """Return the answer about a job of a graph, of which a status is shown."""
    fields: dict[str, Any] = {
        "job_id": job.key.job_id,
        "name": job.spec.name,
        "status": status,
        "depends_on": [parent.job_id for parent in job.spec.depends_on],
        "trigger_rule": job.spec.trigger_rule if job.spec.depends_on else None,
        "blocked_by": blocked_answer(job.blocked, job.key.job_id),
    }
    return NodeAnswer(**fields)
