"""The routes of limits that jobs share by a key."""

from functions.api.http.access import Access
from functions.api.http.route import Route
from functions.api.keys.answers import FlowKeyAnswer
from functions.api.keys.operations import put_a_flow_key, read_a_flow_key
from functions.api.keys.request import FlowKeyBody

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/keys/{key}",
        read_a_flow_key,
        "Read a limit by its key: its bounds, the runs that have its slots, and the runs that wait",
        FlowKeyAnswer,
        access=Access.READ,
    ),
    Route(
        "PUT",
        "/v1/keys/{key}",
        put_a_flow_key,
        "Set the bounds of a limit, whatever jobs state; repeating the request changes nothing",
        FlowKeyAnswer,
        body=FlowKeyBody,
        also={201: FlowKeyAnswer},
        headers=("If-Match", "If-None-Match"),
        access=Access.OPERATE,
    ),
)
