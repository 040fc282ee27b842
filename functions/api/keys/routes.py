"""The routes of keys that jobs name."""

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
        "Read a key that jobs name: what it allows, who has its places, and who waits",
        FlowKeyAnswer,
        access=Access.READ,
    ),
    Route(
        "PUT",
        "/v1/keys/{key}",
        put_a_flow_key,
        "Set what a key allows from now on, whatever jobs say; the same request again changes nothing",
        FlowKeyAnswer,
        body=FlowKeyBody,
        also={201: FlowKeyAnswer},
        headers=("If-Match", "If-None-Match"),
        access=Access.OPERATE,
    ),
)
