"""The routes of limits that jobs share."""

from timeball.api.http.access import Access
from timeball.api.http.route import Route
from timeball.api.keys.answers import LimitAnswer
from timeball.api.keys.operations import put_a_limit, read_a_limit
from timeball.api.keys.request import LimitBody

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/limits/{name}",
        read_a_limit,
        "Read a limit: its bounds, the runs that have its slots, and the runs that wait",
        LimitAnswer,
        access=Access.READ,
    ),
    Route(
        "PUT",
        "/v1/limits/{name}",
        put_a_limit,
        "Set the bounds of a limit, whatever jobs state; repeating the request changes nothing",
        LimitAnswer,
        body=LimitBody,
        also={201: LimitAnswer},
        headers=("If-Match", "If-None-Match"),
        access=Access.OPERATE,
    ),
)
