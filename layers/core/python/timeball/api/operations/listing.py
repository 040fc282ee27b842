"""List a tenant's operations, the newest first. The list leaves out failures."""

from typing import Final

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.paging import QueryReader, cursor_behind, page_of, position_after_page
from timeball.api.http.problems import invalid
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.operations.answers import OperationPageAnswer, operation_summary
from timeball.domain.model.ids import OperationKey
from timeball.engine.operations import operation as engine

router = Router()

OPERATION_PARAMETERS: Final = ("limit", "cursor")


@router.get(
    "/v1/operations",
    "List operations, the newest first",
    OperationPageAnswer,
    query=OPERATION_PARAMETERS,
    access=Access.READ,
)
def list_operations(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's operations, the newest first."""
    reader = QueryReader(request.query, OPERATION_PARAMETERS)
    limit = reader.limit()
    if reader.errors:
        raise invalid(reader.errors)
    bound = ("operations", request.tenant)
    position = position_after_page(request.query, bound)
    after = None if position is None else (position[0], OperationKey(request.tenant, position[1]))
    page = engine.list_operations(edge.context, request.tenant, limit, after)
    last = page.next_after
    cursor = None if last is None else cursor_behind(bound, last[0], last[1].name)
    cursors = (cursor_behind(bound, at, key.name) for at, key in page.positions)
    return page_of(zip(map(operation_summary, page.items), cursors, strict=True), cursor, edge.page_bytes)
