"""No event and no pattern of a tenant reaches another tenant, and none is large enough to bring Timeball down."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.events.sending import ORDER, PLACED, runs_of, send
from tests.effort import at_most
from timeball.domain.model.terms.event import BUS_SOURCE, KEPT_BESIDE

ALL_THAT_THERE_IS: list[Mapping[str, Any]] = [
    {"source": [{"exists": True}]},
    {"source": [{"prefix": ""}]},
    {"source": [{"anything-but": "nothing"}]},
    {"source": [{"anything-but": {"prefix": "nothing"}}]},
    {"source": [{"wildcard": "*"}]},
    {"detail-type": [{"exists": True}]},
    {"subject": [{"exists": False}]},
    {"detail": {"none": [{"exists": False}]}},
    {"$or": [{"source": [{"exists": True}]}, {"source": [{"exists": False}]}]},
]


@pytest.mark.parametrize("pattern", ALL_THAT_THERE_IS, ids=json.dumps)
def test_a_pattern_that_matches_everything_sees_no_event_of_another_tenant(
    api: Api, pattern: Mapping[str, Any]
) -> None:
    created = api.call("POST", "/v1/jobs", {"handler": "https://example.com/h", "event": pattern}, tenant="globex")
    if created.status == 400:  # this EventBridge lacks the operator: it refuses the pattern, and nothing is stored
        assert created.bad_fields() == ["event"]
        return
    send(api)
    assert runs_of(api, created.body, "globex") == []


@pytest.mark.parametrize(
    "forged",
    [
        {"type": "globex"},
        {"source": BUS_SOURCE, "type": "globex"},
        {"source": "globex"},
        {"tenant": "globex"},
        {"data": {"source": BUS_SOURCE, "detail-type": "globex", "detail": {"source": "shop"}}},
    ],
)
def test_an_event_that_names_another_tenant_reaches_only_its_senders_jobs(api: Api, forged: Mapping[str, Any]) -> None:
    anything = {"source": [{"prefix": ""}]}
    theirs = api.call("POST", "/v1/jobs", {"handler": "https://example.com/h", "event": anything}, tenant="globex")
    mine = api.create(event=anything)
    assert api.call("POST", "/v1/events", {**ORDER, **forged}).status == 202
    api.receive()
    assert (len(runs_of(api, mine)), runs_of(api, theirs.body, "globex")) == (1, [])


@pytest.mark.parametrize("pattern", [{KEPT_BESIDE: {"depth": [0]}}, {"$or": [{KEPT_BESIDE: {"at": [1]}}, PLACED]}])
def test_a_pattern_sees_none_of_timeballs_own_events(api: Api, pattern: Mapping[str, Any]) -> None:
    answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com/h", "event": pattern})
    assert answer.bad_fields() == ["event"]


def _nested(depth: int) -> dict[str, Any]:
    pattern: dict[str, Any] = {"a": ["x"]}
    for _ in range(depth):
        pattern = {"a": pattern}
    return {"detail": pattern}


def _alternatives(depth: int) -> dict[str, Any]:
    pattern: dict[str, Any] = {"a": ["x"]}
    for _ in range(depth):
        pattern = {"$or": [pattern, pattern]}
    return pattern


BOMBS: Mapping[str, dict[str, Any]] = {
    "very many values": {"source": ["x"] * 150_000},
    "very many names": {"detail": {f"n{number}": ["x"] for number in range(40_000)}},
    "very deep": {"detail": {f"n{number}": _nested(80) for number in range(300)}},
    "alternatives of alternatives": _alternatives(13),
    "stars": {"source": [{"wildcard": "*a" * 100_000}]},
    "one long name": {"detail": {"n" * 500_000: ["x"]}},
    "a long number": {"detail": {"n": [{"numeric": ["=", 10**90]}] * 5_000}},
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_large_pattern_is_refused_quickly_with_a_short_sentence(api: Api, bomb: dict[str, Any]) -> None:
    with at_most(5_000):
        answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com/h", "event": bomb})
    assert (answer.status, answer.bad_fields()) == (400, ["event"])
    assert len(answer.text) < 2_000
    assert api.bus.rules() == []


@pytest.mark.parametrize("data", ['"', "\\", "\n", "\x00", "ä"])
def test_an_event_full_of_characters_that_json_escapes_is_handed_on_as_sent(api: Api, data: str) -> None:
    job = api.create(event=PLACED)
    length = 260_000 // len(json.dumps(data, ensure_ascii=False)[1:-1].encode())
    send(api, data=data * length)
    (run,) = runs_of(api, job)
    (work,) = api.store.works.read([(run.id.job, run.work_digest or "")])
    assert work is not None
    assert json.loads(work.payload or "")["data"] == data * length


def test_a_large_event_runs_as_many_jobs_as_may_share_a_pattern(api: Api) -> None:
    jobs = [api.create(event=PLACED) for _ in range(70)]  # more than one request writes
    send(api, data="x" * 255_000)
    assert [len(runs_of(api, job)) for job in jobs] == [1] * 70


def test_a_job_whose_calls_send_its_own_event_stops_at_the_fifth_generation(api: Api) -> None:
    job, headers, run_id = api.create(event=PLACED), dict[str, str](), ""
    for generation in range(6):
        event = {**ORDER, "id": str(generation)}
        assert api.call("POST", "/v1/events", event, headers=headers).status == 202
        api.receive()
        run = runs_of(api, job)[-1]
        assert run.depth == generation
        run_id = str(run.id)
        headers = {"Timeball-Depth": str(run.depth), "Timeball-Run-Id": run_id}
        api.clock.advance(1)
    refused = api.call("POST", "/v1/events", {**ORDER, "id": "6"}, headers=headers)
    assert refused.status == 409
    assert api.call("POST", "/v1/events", {**ORDER, "id": "6"}, headers={"Timeball-Run-Id": run_id}).status == 409
    assert len(runs_of(api, job)) == 6
