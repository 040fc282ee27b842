"""What the API says about itself, to anybody."""

from typing import Final, Literal

from functions.api.http.access import Access
from functions.api.http.edge import Edge
from functions.api.http.reply import Answer, Reply, ok
from functions.api.http.request import Request
from functions.api.http.route import Route

HTML: Final = "text/html; charset=utf-8"


class HealthAnswer(Answer):
    """The API is up."""

    status: Literal["ok"] = "ok"


def healthz(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Say that the API is up."""
    return ok(HealthAnswer(status="ok"))


def openapi(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Describe the API."""
    return Reply(200, edge.describe())


def docs(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Show the API to people: a page that loads nothing and runs nothing."""
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
    return Reply(200, edge.show(), policy, media_type=HTML)


ROUTES: tuple[Route, ...] = (
    Route("GET", "/healthz", healthz, "Say that the API is up", HealthAnswer, access=Access.PUBLIC),
    Route("GET", "/openapi.json", openapi, "Describe the API", None, access=Access.PUBLIC),
    Route("GET", "/docs", docs, "Show the API to people", None, access=Access.PUBLIC, media_type=HTML),
)
