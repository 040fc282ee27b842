"""The graph of the jobs that a job depends on and the jobs that depend on it."""

from typing import Any, Literal

from pydantic import Field

from timeball.api.dependencies.fields import BlockedAnswer, blocked_answer
from timeball.api.http.access import Access
from timeball.api.http.cursor import MOST_OF_A_GRAPH, NEXT_CURSOR, PAGE, PageQuery, fitting, identifier, number
from timeball.api.http.edge import ApiContext, job_key, no_job
from timeball.api.http.exchange import AnswerModel, IdOfJob, NameForPeople, Reply, Request, ok
from timeball.api.http.route import Router
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.engine.dependencies.graph_views import Side, View, next_after, read_graph
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
    is_cut: bool = Field(description="Whether the graph has more jobs than this page and those before it show.")
    next_cursor: str | None = Field(description=NEXT_CURSOR)


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
    query=PAGE,
    access=Access.READ,
)
def get_job_graph(edge: ApiContext, request: Request) -> Reply:
    """Read the jobs that a job depends on and the jobs that depend on it, with their statuses, in pages.

    A key that is bounded to tags sees only jobs within its bounds.
    """
    asked = PageQuery(request, MOST_OF_A_GRAPH, MOST_OF_A_GRAPH)
    view = View(asked.limit, asked.after(number, number, identifier) or (), request.bounds)
    graph = read_graph(edge.context, job_key(request), view)
    if graph is None:
        raise no_job()
    statuses = shown_statuses(edge.context, [graph.job, *(one.job for one in graph.neighbours)])
    nodes = fitting((node_answer(one.job, statuses[one.job.key]) for one in graph.neighbours), edge.page_bytes, 1)
    above = sum(one.side is Side.ABOVE for one in graph.neighbours[: len(nodes)])
    cursor = asked.cursor(next_after(graph.neighbours, len(nodes), graph.ends_at))
    return ok(
        GraphAnswer(
            job=node_answer(graph.job, statuses[graph.job.key]),
            ancestors=nodes[:above],
            descendants=nodes[above:],
            is_cut=graph.is_cut or cursor is not None,
            next_cursor=cursor,
        )
    )
