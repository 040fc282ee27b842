"""List a tenant's operations, the newest first. The list leaves out failures."""

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.operations.answers import OperationPageAnswer, operation_summary
from timeball.domain.model.ids import OperationKey
from timeball.engine.operations import operation as engine

router = Router()


@router.get(
    "/v1/operations",
    "List operations, the newest first",
    OperationPageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_operations(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's operations, the newest first."""
    asked = PageQuery(request)
    after = asked.after(number, identifier)
    page = engine.list_operations(
        edge.context, request.tenant, asked.limit, after and (after[0], OperationKey(request.tenant, after[1]))
    )
    positions = ((at, key.name) for at, key in page.positions)
    next_after = page.next_after and (page.next_after[0], page.next_after[1].name)
    return asked.page(edge, zip(map(operation_summary, page.items), positions, strict=True), next_after)
