"""List a tenant's tasks, the newest first. The list leaves out their schemas."""

from typing import Final

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.paging import QueryReader, cursor_behind, page_of, position_after_page
from timeball.api.http.problems import invalid
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.tasks.answers import TaskPageAnswer, task_summary
from timeball.domain.model.ids import TaskKey
from timeball.engine import tasks as engine

router = Router()

TASK_PARAMETERS: Final = ("limit", "cursor")


@router.get("/v1/tasks", "List tasks, the newest first", TaskPageAnswer, query=TASK_PARAMETERS, access=Access.READ)
def list_tasks(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's tasks, the newest first."""
    reader = QueryReader(request.query, TASK_PARAMETERS)
    limit = reader.limit()
    if reader.errors:
        raise invalid(reader.errors)
    bound = ("tasks", request.tenant)
    position = position_after_page(request.query, bound)
    after = None if position is None else (position[0], TaskKey(request.tenant, position[1]))
    page = engine.list_tasks(edge.context, request.tenant, limit, after)
    last = page.next_after
    cursor = None if last is None else cursor_behind(bound, last[0], last[1].task_id)
    cursors = (cursor_behind(bound, at, key.task_id) for at, key in page.positions)
    return page_of(zip(map(task_summary, page.items), cursors, strict=True), cursor, edge.page_bytes)
