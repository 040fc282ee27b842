"""Send one event, or many with a result for each, to the bus under the caller's tenant.

The tenant is that of the caller's key; nothing in a request can change it.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from timeball.api.events.request import MAX_EVENTS, EventsRequest, read_event
from timeball.api.http import depths
from timeball.api.http.access import Access
from timeball.api.http.body import compact, kind_of
from timeball.api.http.depths import call_depth
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import (
    EVENTS,
    AnswerModel,
    Reply,
    Request,
    Time,
    accepted,
    idempotency_key,
    ok,
    read_one_or_many,
)
from timeball.api.http.ids import NewId
from timeball.api.http.problems import FieldError, ItemProblem, Problem, ProblemError, invalid, problem_fields, refuse
from timeball.api.http.quotas import check_product, count_events, large_payload, quotas_of
from timeball.api.http.route import Router
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import MOST_BYTES, Event
from timeball.domain.sharing.fairness import MOST_OF_A_REQUEST
from timeball.domain.time.instants import format_instant
from timeball.engine.events.receive import publish
from timeball.engine.events.subscribe import count_subscribers
from timeball.ports.event_bus import EventRefusal

router = Router()


_ROOM = 240
"""The bytes of the acceptance time, the depth, the name of the matching rule, and a job's id."""


class EventAnswer(AnswerModel):
    """An event that is on the bus."""

    event_id: str = Field(description="The event's `id`, given or generated.")
    source: str = Field(description="The event's `source`.")
    type: str = Field(description="The event's `type`.")
    accepted_at: Time = Field(description="When it was first accepted: the fire time of its runs.")


class EventItemAnswer(AnswerModel):
    """The result of one event of many: the event, or a problem."""

    index: int = Field(description="The index of the event in the request, from 0.")
    status: int = Field(description="202 for an event on the bus, or the status of the problem.")
    event: EventAnswer | None = Field(default=None, description="The event, if it is on the bus.")
    problem: ItemProblem | None = Field(default=None, description="The problem, if the event is not on the bus.")


class EventsAnswer(AnswerModel):
    """The results of many events."""

    items: list[EventItemAnswer] = Field(description="A result for each event, in the order of the request.")


@router.post(
    "/v1/events",
    "Send one event, or up to a hundred, to the jobs whose patterns match; each of many has its own result",
    EventAnswer,
    status=202,
    also={200: EventsAnswer},
    body=EventsRequest,
    headers=("Idempotency-Key", *depths.HEADERS),
    problems=depths.PROBLEMS,
    access=Access.SUBMIT,
)
def publish_events(edge: ApiContext, request: Request) -> Reply:
    """Send one event to the bus, or many."""
    body = read_one_or_many(request, EVENTS, MAX_EVENTS)
    errors: list[FieldError] = []
    key = idempotency_key(request, errors)
    refuse(errors)
    many = body if isinstance(body, list) else [body]
    quotas = quotas_of(edge, request)
    names = [NewId.EVENT.of(request.tenant, key and f"{key} {index}", edge.random_bytes) for index in range(len(many))]
    read = [_read(edge, request, quotas, name, one) for name, one in zip(names, many, strict=True)]
    done = _published(edge, request, read)
    if isinstance(body, list):
        return ok(EventsAnswer(items=[_item(index, one) for index, one in enumerate(done)]))
    (one,) = done
    if isinstance(one, ProblemError):
        raise one
    return accepted(one)


def _read(edge: ApiContext, request: Request, quotas: Quotas, name: str, body: object) -> dict[str, Any] | ProblemError:
    """Return the attributes of an event, which gets this name if it has no `id`, or its problem."""
    if not isinstance(body, dict):
        return ProblemError(Problem.MALFORMED_BODY, f"This event is {kind_of(body)}; send a JSON object.")
    attributes, errors = read_event(body, name, edge.context.clock.now())
    if errors:
        return invalid(errors)
    size = Event(request.tenant, attributes, 0).size + _ROOM
    if size > MOST_BYTES:
        errors = [
            FieldError(
                "data",
                f"The event has {size} bytes on the bus; at most {MOST_BYTES} (256 KB) are allowed: "
                "store its data elsewhere, and send a reference.",
            )
        ]
    errors = errors or large_payload(quotas, compact(attributes), "data")  # it becomes the payload of runs
    return invalid(errors) if errors else attributes


def _published(
    edge: ApiContext, request: Request, read: Sequence[dict[str, Any] | ProblemError]
) -> list[EventAnswer | ProblemError]:
    wanted = [one for one in read if not isinstance(one, ProblemError)]
    if wanted:
        jobs = count_subscribers(edge.context, request.tenant, MOST_OF_A_REQUEST // len(wanted))
        check_product(len(wanted), jobs, "events", "jobs that run on events")
    depth = call_depth(edge, request, len(wanted)) if wanted else 0
    count_events(edge, request, len(wanted))
    done = iter(publish(edge.context, edge.events, request.tenant, wanted, depth) if wanted else [])
    return [one if isinstance(one, ProblemError) else _outcome(*next(done)) for one in read]


def _outcome(event: Event, refusal: EventRefusal | None) -> EventAnswer | ProblemError:
    if refusal is not None and refusal.is_unknown:
        return ProblemError(
            Problem.UNAVAILABLE,
            "EventBridge did not answer, so the event may be on the bus or not; send it again with the "
            "same source and id: each job still runs once for it.",
            headers={"Retry-After": "1"},
        )
    if refusal is not None:
        return invalid([FieldError("data", f"EventBridge does not accept this event: {refusal.why}")])
    attributes = event.attributes
    return EventAnswer(
        event_id=attributes["id"],
        source=attributes["source"],
        type=attributes["type"],
        accepted_at=format_instant(event.accepted_at),
    )


def _item(index: int, outcome: EventAnswer | ProblemError) -> EventItemAnswer:
    if isinstance(outcome, ProblemError):
        problem = ItemProblem(**problem_fields(outcome))
        return EventItemAnswer(index=index, status=outcome.problem.status, problem=problem)
    return EventItemAnswer(index=index, status=202, event=outcome)
