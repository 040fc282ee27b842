"""Events are sent singly or in arrays, as CloudEvents or plain JSON, and each is validated by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.events.sending import ORDER, PLACED, runs_of
from timeball.domain.model.terms.event import MOST_BYTES, Event
from timeball.ports.event_bus import EventRefusal
from timeball.testing.memory_services import MemoryBus

CLOUDEVENT = {"specversion": "1.0", **ORDER, "datacontenttype": "application/json", "traceparent": "00-ab-cd-01"}


@pytest.mark.parametrize(
    "headers",
    [{}, {"Content-Type": "application/cloudevents+json; charset=utf-8"}, {"Content-Type": "application/json"}],
)
def test_a_cloudevent_is_taken_unchanged(api: Api, headers: Mapping[str, str]) -> None:
    answer = api.call("POST", "/v1/events", CLOUDEVENT, headers=headers)
    assert (answer.status, answer.body["eventId"], answer.body["type"]) == (202, "7", "order.placed")


def test_plain_json_needs_a_type_and_a_source_and_is_given_an_id(api: Api) -> None:
    job = api.create(event=PLACED)
    plain = {"type": "order.placed", "source": "shop"}
    first, second = (api.call("POST", "/v1/events", plain).body["eventId"] for _ in range(2))
    assert first != second
    keyed = [
        api.call("POST", "/v1/events", plain, headers={"Idempotency-Key": "one"}).body["eventId"] for _ in range(2)
    ]
    assert keyed[0] == keyed[1]
    api.receive()
    assert len(runs_of(api, job)) == 3


BAD: Sequence[tuple[dict[str, Any], str]] = [
    ({"source": None}, "source"),
    ({"type": None}, "type"),
    ({"type": ""}, "type"),
    ({"type": 7}, "type"),
    ({"source": "s" * 1025}, "source"),
    ({"specversion": "0.3"}, "specversion"),
    ({"specversion": "1.0", "id": None}, "id"),
    ({"time": "yesterday"}, "time"),
    ({"time": 5}, "time"),
    ({"data_base64": "eA=="}, "data_base64"),  # together with data
    ({"myOwn": 1}, "myOwn"),
    ({"extension": {"a": 1}}, "extension"),
    ({"extension": 1.5}, "extension"),
    ({"detail": "x"}, "detail"),
    ({"timeball": "x"}, "timeball"),
    ({"a" * 21: "x"}, "a" * 21),
    ({"data": "ä" * (MOST_BYTES // 2)}, "data"),
]


@pytest.mark.parametrize(("changed", "field"), BAD)
def test_an_invalid_event_is_refused_by_its_field(api: Api, changed: dict[str, Any], field: str) -> None:
    answer = api.call("POST", "/v1/events", {**ORDER, **changed})
    assert (answer.status, answer.bad_fields()) == (400, [field])


def test_an_event_may_be_as_large_as_eventbridge_accepts(api: Api) -> None:
    def event(length: int) -> dict[str, Any]:
        return {**ORDER, "time": "2026-11-21T09:30:00.250Z", "data": "x" * length}

    room = MOST_BYTES - Event("acme", {"specversion": "1.0", **event(0)}, 0).size - 240
    assert api.call("POST", "/v1/events", event(room)).status == 202
    refused = api.call("POST", "/v1/events", event(room + 1))
    assert "256 KB" in refused.body["errors"][0]["message"]


def test_each_event_of_an_array_has_its_own_result(api: Api) -> None:
    job = api.create(event=PLACED)
    many = [ORDER, {"type": "order.placed"}, 7, {**ORDER, "id": "8"}]
    answer = api.call("POST", "/v1/events", many, headers={"Content-Type": "application/cloudevents-batch+json"})
    items = answer.body["items"]
    assert (answer.status, [one["status"] for one in items]) == (200, [202, 400, 400, 202])
    assert [one["index"] for one in items] == [0, 1, 2, 3]
    assert items[1]["problem"]["errors"][0]["field"] == "source"
    api.receive()
    assert len(runs_of(api, job)) == 2


@pytest.mark.parametrize("count", [0, 101])
def test_an_array_has_between_one_and_a_hundred_events(api: Api, count: int) -> None:
    assert api.call("POST", "/v1/events", [ORDER] * count).status == 400


class Unsteady(MemoryBus):
    """A bus that refuses every second event, and does not answer for every third."""

    def put(self, events: Sequence[Event]) -> list[EventRefusal | None]:
        refusals = (None, EventRefusal("It does not like this."), EventRefusal("It did not answer.", is_unknown=True))
        return [refusals[place % 3] for place, _ in enumerate(events)]


def test_each_event_that_the_bus_does_not_take_has_its_own_problem(api: Api) -> None:
    api.bus.__class__ = Unsteady
    many = [{**ORDER, "id": str(number)} for number in range(3)]
    items = api.call("POST", "/v1/events", many).body["items"]
    assert [one["status"] for one in items] == [202, 400, 503]
    assert "send it again with the same source and id" in items[2]["problem"]["detail"]


@pytest.mark.parametrize("role", ["viewer", "worker"])
def test_a_role_that_may_not_create_jobs_may_not_send_events(api: Api, role: str) -> None:
    assert api.call("POST", "/v1/events", ORDER, role=role).status == 403


def test_a_key_bounded_to_tags_may_send_no_events_because_they_run_jobs_outside_its_bounds(api: Api) -> None:
    assert api.call("POST", "/v1/events", ORDER, bounds={"team": "blue"}).status == 403


def test_an_event_that_a_call_sends_has_the_calls_generation_and_so_have_its_runs(api: Api) -> None:
    job = api.create(event=PLACED)
    assert api.call("POST", "/v1/events", ORDER, headers={"Timeball-Depth": "1"}).status == 202
    api.receive()
    (run,) = runs_of(api, job)
    assert run.depth == 2
    assert api.call("POST", "/v1/events", ORDER, headers={"Timeball-Depth": "5"}).status == 409
