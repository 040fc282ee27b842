"""What the API says about itself, to anybody."""

from .answers import HealthAnswer
from .edge import Edge, ok
from .requests import Reply, Request


def healthz(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Say that the API is up."""
    return ok(HealthAnswer(status="ok"))


def openapi(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Describe the API."""
    from .openapi import document_text  # noqa: PLC0415 - seldom asked for, and slow to import

    return Reply(200, document_text())
