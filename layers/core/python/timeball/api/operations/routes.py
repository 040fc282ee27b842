"""The routes of bulk operations."""

from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.operations.answers import OperationAnswer, OperationPageAnswer
from timeball.api.operations.listing import OPERATION_PARAMETERS, read_operations
from timeball.api.operations.operations import cancel_an_operation, create_an_operation, read_operation
from timeball.api.operations.request import OperationRequest

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/operations",
        create_an_operation,
        "Pause, resume, cancel, trigger or retry all jobs that match, at a pace",
        OperationAnswer,
        status=201,
        body=OperationRequest,
        headers=("Idempotency-Key", *generations.HEADERS),
        problems=(Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        "/v1/operations",
        read_operations,
        "List operations, the newest first",
        OperationPageAnswer,
        query=OPERATION_PARAMETERS,
        access=Access.READ,
    ),
    Route(
        "GET",
        "/v1/operations/{operationId}",
        read_operation,
        "Read the progress of an operation, and its failures",
        OperationAnswer,
        access=Access.READ,
    ),
    Route(
        "DELETE",
        "/v1/operations/{operationId}",
        cancel_an_operation,
        "Cancel an operation; jobs that it has processed stay changed",
        OperationAnswer,
        headers=("If-Match",),
        access=Access.OPERATE,
    ),
)
