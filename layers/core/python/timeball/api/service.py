"""Routes about the API itself, open to any caller."""

from typing import Final, Literal

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.reply import AnswerModel, Reply, ok
from timeball.api.http.request import Request
from timeball.api.http.route import Router

router = Router()

HTML: Final = "text/html; charset=utf-8"


class HealthAnswer(AnswerModel):
    """The state of the API."""

    status: Literal["ok"] = Field("ok", description="Always `ok`: an API that is down does not answer.")


@router.get("/healthz", "Check that the API is up", HealthAnswer, access=Access.PUBLIC)
def get_health(edge: ApiContext, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Answer that the API is up."""
    return ok(HealthAnswer(status="ok"))


@router.get("/openapi.json", "Read this document", None, access=Access.PUBLIC)
def get_openapi_document(edge: ApiContext, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Return the OpenAPI document."""
    return Reply(200, edge.describe())


@router.get("/docs", "Read this document as a page", None, access=Access.PUBLIC, media_type=HTML)
def get_docs_page(edge: ApiContext, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Return the API's documentation as a page that loads no resource and runs no script."""
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
    return Reply(200, edge.show(), policy, media_type=HTML)
