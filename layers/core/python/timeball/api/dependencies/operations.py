"""The route of the graph of dependencies."""

from timeball.api.dependencies.answers import GraphAnswer, node_answer
from timeball.api.http.access import Access, are_within
from timeball.api.http.cursor import fitting
from timeball.api.http.edge import ApiContext, job_key, no_job
from timeball.api.http.exchange import Reply, Request, ok
from timeball.api.http.route import Router
from timeball.engine.dependencies.graph_views import read_graph
from timeball.engine.scheduling.list_jobs import shown_statuses

router = Router()


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
