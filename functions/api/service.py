"""What the API says about itself, to anybody."""

from typing import Literal

from functions.api.http.edge import Edge
from functions.api.http.reply import Answer, Reply, ok
from functions.api.http.request import Request
from functions.api.http.route import Route


class HealthAnswer(Answer):
    """The API is up."""

    status: Literal["ok"] = "ok"


def healthz(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Say that the API is up."""
    return ok(HealthAnswer(status="ok"))


def openapi(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Describe the API."""
    return Reply(200, edge.describe())


ROUTES: tuple[Route, ...] = (
    Route("GET", "/healthz", healthz, "Say that the API is up", HealthAnswer, is_public=True),
    Route("GET", "/openapi.json", openapi, "Describe the API", None, is_public=True),
)
