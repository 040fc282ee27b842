"""List a tenant's tasks, the newest first. The list leaves out their schemas."""

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Reply, Request
from timeball.api.http.route import Router
from timeball.api.tasks.answers import TaskPageAnswer, task_summary
from timeball.domain.model.ids import TaskKey
from timeball.engine import tasks as engine

router = Router()


@router.get("/v1/tasks", "List tasks, the newest first", TaskPageAnswer, query=PAGE, access=Access.READ)
def list_tasks(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's tasks, the newest first."""
    asked = PageQuery(request)
    after = asked.after(number, identifier)
    page = engine.list_tasks(
        edge.context, request.tenant, asked.limit, after and (after[0], TaskKey(request.tenant, after[1]))
    )
    positions = ((at, key.task_id) for at, key in page.positions)
    next_after = page.next_after and (page.next_after[0], page.next_after[1].task_id)
    return asked.page(edge, zip(map(task_summary, page.items), positions, strict=True), next_after)
