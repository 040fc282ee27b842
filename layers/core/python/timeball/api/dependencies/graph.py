"""The graph of the jobs that a job depends on and the jobs that depend on it."""

from typing import Any, Literal

from pydantic import Field

from timeball.api.dependencies.fields import BlockedAnswer, blocked_answer
from timeball.api.http.access import Access, are_within
from timeball.api.http.cursor import fitting
from timeball.api.http.edge import ApiContext, job_key, no_job
from timeball.api.http.exchange import AnswerModel, IdOfJob, NameForPeople, Reply, Request, ok
from timeball.api.http.route import Router
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.engine.dependencies.graph_views import read_graph
from timeball.engine.scheduling.list_jobs import shown_statuses

router = Router()


class NodeAnswer(AnswerModel):
    """A job of a graph."""

    job_id: IdOfJob
    name: NameForPeople
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


@router.get(
    "/v1/jobs/{jobId}/graph",
    "Read the jobs that a job depends on and the jobs that depend on it, with their statuses",
    GraphAnswer,
    access=Access.READ,
)
def get_job_graph(edge: ApiContext, request: Request) -> Reply:
    """Read the jobs that a job depends on and the jobs that depend on it, with their statuses.

    A key that is bounded to tags sees only jobs within its bounds.
    """
    graph = read_graph(edge.context, job_key(request))
    if graph is None:
        raise no_job()
    above, below = (
        [one for one in jobs if are_within(one.spec.tags, request.bounds)]
        for jobs in (graph.ancestors, graph.descendants)
    )
    statuses = shown_statuses(edge.context, [graph.job, *above, *below])
    nodes = fitting((node_answer(one, statuses[one.key]) for one in (*above, *below)), edge.page_bytes)
    return ok(
        GraphAnswer(
            job=node_answer(graph.job, statuses[graph.job.key]),
            ancestors=nodes[: len(above)],
            descendants=nodes[len(above) :],
            is_cut=graph.is_cut or len(nodes) < len(above) + len(below),
        )
    )
