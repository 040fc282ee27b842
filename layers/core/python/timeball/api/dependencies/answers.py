"""The models of answers about dependencies."""

from typing import Any, Literal

from pydantic import Field

from timeball.api.http.exchange import AnswerModel
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.terms.dependency import Blocked, TriggerRule


class BlockedAnswer(AnswerModel):
    """The failed run that blocks a job. Retry or replay it, or mark it as succeeded."""

    run_id: str = Field(description="The id of the failed run.")
    job_id: str = Field(description="The job of that run.")
    path: list[str] = Field(
        description="The ids of the jobs from that job to this one; of a long path the first and the last."
    )


def blocked_answer(blocked: Blocked | None, job_id: str) -> BlockedAnswer | None:
    """Return the answer about what blocks a job."""
    if blocked is None:
        return None
    return BlockedAnswer(run_id=str(blocked.by), job_id=blocked.by.job.job_id, path=[*blocked.path, job_id])


class NodeAnswer(AnswerModel):
    """A job of a graph."""

    job_id: str = Field(description="The id of the job.")
    name: str | None = Field(description="A name for people.")
    status: JobStatus | Literal["running"] = Field(description="Its status; `running` while a run of it is live.")
    depends_on: list[str] = Field(description="The ids of the jobs that it waits for.")
    trigger_rule: TriggerRule | None = Field(description="Which ends of these jobs let it run.")
    blocked_by: BlockedAnswer | None = Field(description="The failed run that blocks it.")


class GraphAnswer(AnswerModel):
    """A job, the jobs that it depends on and the jobs that depend on it, directly or not."""

    job: NodeAnswer = Field(description="The job in the request's path.")
    ancestors: list[NodeAnswer] = Field(description="The jobs that it depends on, the nearest first.")
    descendants: list[NodeAnswer] = Field(description="The jobs that depend on it, the nearest first.")
    is_cut: bool = Field(description="Whether the graph has more jobs than are shown.")


def node_answer(job: Job, status: str) -> NodeAnswer:
    """Return the answer about a job of a graph, with this status."""
    fields: dict[str, Any] = {
        "job_id": job.key.job_id,
        "name": job.spec.name,
        "status": status,
        "depends_on": [parent.job_id for parent in job.spec.depends_on],
        "trigger_rule": job.spec.trigger_rule if job.spec.depends_on else None,
        "blocked_by": blocked_answer(job.blocked, job.key.job_id),
    }
    return NodeAnswer(**fields)
