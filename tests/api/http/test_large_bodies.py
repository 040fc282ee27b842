"""The work that a caller can cause is bounded: by the size of a body, and by the number of mistakes that are named.

The bounds of processor time are generous, at least three times the measured time: they detect a missing bound.
"""

import json
import re

import pytest

from tests.api.client import Answer, Api, event_of
from tests.api.http.broken import broken_api
from tests.api.http.hostile_bodies import MALFORMED, NAMED, Body
from tests.api.http.requests import path_of
from tests.effort import at_most
from timeball.api.http.body import MAX_BYTES
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES

WITH_A_BODY = [route for route in ROUTES if route.method in {"PATCH", "POST", "PUT"}]
WITHOUT_A_BODY = [route for route in ROUTES if route not in WITH_A_BODY]
OK = b'{"handler": "https://example.com"'
MOST = 1_000


def assert_too_large(answer: Answer) -> None:
    assert (answer.status, answer.body["type"]) == (413, Problem.BODY_TOO_LARGE.type)
    assert answer.body["detail"] == "A body may have at most 1048576 bytes (1 MB); send a smaller one."


@pytest.mark.parametrize("route", WITH_A_BODY, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize("is_base64", [False, True])
def test_a_body_over_1_mb_is_refused_before_it_is_decoded_or_parsed(route: Route, *, is_base64: bool) -> None:
    # Decoded, these bodies would be empty; parsed, they would be no JSON; and the store would raise.
    event = event_of(route.method, path_of(route), "acme", {"content-type": "text/plain"}, {})
    event |= {"body": "!" * (MAX_BYTES * 4 // 3 + 4), "isBase64Encoded": is_base64}
    assert_too_large(broken_api(RuntimeError()).answer(event))


@pytest.mark.parametrize("as_base64", [False, True])
@pytest.mark.parametrize("text", [b"a", "é".encode(), "😀".encode()], ids=["ascii", "two bytes", "four bytes"])
def test_a_body_of_exactly_1_mb_counted_in_bytes_is_accepted(api: Api, text: bytes, *, as_base64: bool) -> None:
    named = OK + b', "name": "' + text + b'"'
    full = named + b" " * (MAX_BYTES - len(named) - 1) + b"}"
    assert api.call("POST", "/v1/jobs", raw=full, as_base64=as_base64).status == 201
    assert_too_large(api.call("POST", "/v1/jobs", raw=full + b" ", as_base64=as_base64))


def test_a_large_body_without_a_key_is_a_401(api: Api) -> None:
    assert api.call("POST", "/v1/jobs", raw=b" " * (MAX_BYTES + 1), tenant=None).status == 401


@pytest.mark.parametrize("route", WITHOUT_A_BODY, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_without_a_body_ignores_one(route: Route) -> None:
    event = event_of(route.method, path_of(route), "acme", {}, {})
    event |= {"body": "no base64 at all", "isBase64Encoded": True}
    assert Api().answer(event).text == Api().call(route.method, path_of(route)).text


@pytest.mark.parametrize(("route", "body", "named"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_the_most_expensive_body_costs_little_and_at_most_a_hundred_fields_are_named(
    api: Api, job: dict[str, str], route: tuple[str, str], body: Body, named: int
) -> None:
    answer = cheap(api, *route, job["jobId"], body())
    assert (answer.status, len(answer.body["errors"])) == (400, named)
    assert ("More than 100 fields" in answer.body["detail"]) is (named == 100)
    assert len(answer.text) < 20_000


@pytest.mark.parametrize("body", [row[1] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_the_most_expensive_malformed_body_costs_little(api: Api, job: dict[str, str], body: Body) -> None:
    answer = cheap(api, "POST", "/v1/jobs", job["jobId"], body())
    assert (answer.status, answer.body["type"]) == (400, Problem.MALFORMED_BODY.type)
    assert len(answer.text) < 1_000


def cheap(api: Api, method: str, path: str, job_id: str, raw: bytes) -> Answer:
    """Return the answer to a request, and fail if it costs much."""
    event = event_of(method, path.format(job=job_id), "acme", {}, {}) | {"body": raw.decode()}
    with at_most(MOST):
        return api.answer(event)


@pytest.mark.parametrize(("mistakes", "said"), [(99, "99 fields need"), (100, "100 fields need"), (101, "More than")])
def test_up_to_a_hundred_mistakes_are_counted_and_only_the_first_hundred_are_named(
    api: Api, mistakes: int, said: str
) -> None:
    body = {"handler": "https://example.com", **{f"x{number}": 1 for number in range(mistakes)}}
    answer = api.call("POST", "/v1/jobs", body)
    assert answer.bad_fields() == [f"x{number}" for number in range(min(mistakes, 100))]
    assert answer.body["detail"].startswith(said)
    assert ("names the first 100" in answer.body["detail"]) is (mistakes > 100)


def test_a_known_field_is_validated_however_many_unknown_fields_come_before_it(api: Api) -> None:
    body = {**{f"x{number}": 1 for number in range(5000)}, "priority": "urgent", "handler": "https://example.com"}
    assert api.call("POST", "/v1/jobs", body).bad_fields()[0] == "priority"


@pytest.mark.parametrize("path", ["/v1/jobs/{job}/pause", "/v1/jobs", "/v1/schedules:preview"])
def test_a_long_field_name_is_named_by_its_beginning(api: Api, job: dict[str, str], path: str) -> None:
    for key in ("x" * 9000, "\\ud800" + "x" * 9000):
        answer = api.call("POST", path.format(job=job["jobId"]), raw=f'{{"{key}": 1}}'.encode())
        assert answer.status == 400
        assert max(map(len, answer.bad_fields())) == 103
        assert len(answer.text) < 1_000


LONGEST = 10_240
"""The gateway passes at most this many bytes of request line and headers."""


@pytest.mark.parametrize("route", [route for route in ROUTES if "{" in route.path], ids=lambda route: route.summary)
def test_a_long_id_costs_nothing(api: Api, route: Route) -> None:
    for text in ("a" * LONGEST, "a." * (LONGEST // 2), "job_1." + "5" * LONGEST + ".s"):
        path = re.sub(r"\{\w+\}", text, route.path)
        event = event_of(route.method, path, "acme", {}, {})
        with at_most(MOST // 2):
            answer = api.answer(event | {"body": json.dumps({"attempt": 1})})
        assert answer.status in {400, 404}
        assert len(answer.text) < 1_000


@pytest.mark.parametrize("path", ["/v1/jobs/{job}/runs", "/v1/jobs/{job}", "/v1/dead-letters"])
def test_thousands_of_parameters_cost_little(api: Api, job: dict[str, str], path: str) -> None:
    query = {f"l{number}": "" for number in range(LONGEST // 4)}
    with at_most(MOST // 2):
        answer = api.call("GET", path.format(job=job["jobId"]), query=query)
    assert (answer.status, len(answer.bad_fields())) == (400, 100)
