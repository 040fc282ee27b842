"""The route of events."""

from timeball.api.events.answers import EventAnswer, EventsAnswer
from timeball.api.events.publishing import post_events
from timeball.api.events.request import EventsRequest
from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/events",
        post_events,
        "Send one event, or up to a hundred, to the jobs whose patterns match; each of many has its own result",
        EventAnswer,
        status=202,
        also={200: EventsAnswer},
        body=EventsRequest,
        headers=("Idempotency-Key", *generations.HEADERS),
        problems=generations.PROBLEMS,
        access=Access.SUBMIT,
    ),
)
