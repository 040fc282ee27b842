"""The routes of cycles."""

from functions.api.cycles.answers import CycleAnswer
from functions.api.cycles.reading import read_a_cycle
from functions.api.http.access import Access
from functions.api.http.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/cycles/{jobId}/{fireTime}",
        read_a_cycle,
        "Read all runs of a graph's cycle, with what waits for what",
        CycleAnswer,
        access=Access.READ,
    ),
)
