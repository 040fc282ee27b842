"""The routes of cycles."""

from timeball.api.cycles.answers import CycleAnswer
from timeball.api.cycles.reading import read_a_cycle
from timeball.api.cycles.rerunning import RerunRequest, rerun_cycle
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.operations.answers import OperationAnswer

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/cycles/{jobId}/{fireTime}",
        read_a_cycle,
        "Read all runs of a graph's cycle, with their dependencies",
        CycleAnswer,
        access=Access.READ,
    ),
    Route(
        "POST",
        "/v1/cycles/{jobId}/{fireTime}:rerun",
        rerun_cycle,
        "Run a graph's cycle again: the failed runs, these and their descendants, or all runs",
        OperationAnswer,
        status=201,
        body=RerunRequest,
        headers=("Idempotency-Key",),
        problems=(Problem.IDEMPOTENCY_CONFLICT, Problem.RUN_UNDER_WAY),
        access=Access.OPERATE,
    ),
)
