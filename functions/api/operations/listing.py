"""A tenant's operations are listed, the newest first. What failed is left to reading one."""

from typing import Final

from functions.api.http.edge import Edge
from functions.api.http.paging import FOREIGN, Reader, cursor_of, position_in
from functions.api.http.problems import invalid
from functions.api.http.reply import Reply, ok
from functions.api.http.request import Request
from functions.api.operations.answers import OperationPageAnswer, operation_summary
from timeball.domain.model.ids import JOB_ID, OperationKey
from timeball.engine.operations.operation import list_operations

OPERATION_PARAMETERS: Final = ("limit", "cursor")

_Position = tuple[int, OperationKey]


def read_operations(edge: Edge, request: Request) -> Reply:
    """List a tenant's operations, the newest first."""
    reader = Reader(request.query, OPERATION_PARAMETERS)
    limit = reader.limit()
    if reader.errors:
        raise invalid(reader.errors)
    page = list_operations(edge.context, request.tenant, limit, _after(request))
    cursor = None if page.next_after is None else _cursor(request.tenant, page.next_after)
    return ok(OperationPageAnswer(items=[operation_summary(one) for one in page.items], next_cursor=cursor))


def _cursor(tenant: str, position: _Position) -> str:
    return cursor_of(("operations", tenant), f"{position[0]}.{position[1].name}")


def _after(request: Request) -> _Position | None:
    """Return where the page before ended. Raises ProblemError for a cursor of another list."""
    if "cursor" not in request.query:
        return None
    created_at, _, name = position_in(request.query["cursor"]).partition(".")
    if created_at.isascii() and created_at.isdecimal() and len(created_at) <= 14 and JOB_ID.fullmatch(name):
        position = int(created_at), OperationKey(request.tenant, name)
        if _cursor(request.tenant, position) == request.query["cursor"]:
            return position
    raise invalid([FOREIGN])
