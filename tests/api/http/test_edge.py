"""Rules of every route: who is authenticated, the answer when no route matches, and that nothing leaks."""

import json
import logging
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import Api, event_of
from tests.api.http.broken import broken_api
from tests.api.http.requests import BODIES, STORED, path_of
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.routes import PUBLIC_PATHS, ROUTES
from timeball.ports.errors import UnavailableError

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

NAMES = [f"{route.method} {route.path}" for route in ROUTES]


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
@pytest.mark.parametrize("method", METHODS)
def test_without_a_key_only_the_public_paths_answer(api: Api, route: Route, method: str) -> None:
    api.tick()
    answer = api.call(method, path_of(route), {"handler": "https://example.com"}, tenant=None)
    if route.is_public:
        assert answer.status == (200 if method == "GET" else 405)
    else:
        assert (answer.status, answer.body["type"]) == (401, Problem.UNAUTHENTICATED.type)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert not api.store.jobs


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/v1",
        "/nope",
        "/healthz/",
        "/healthz/../v1/jobs",
        "//healthz",
        "/HEALTHZ",
        "/v1/jobs/healthz",
    ],
)
def test_without_a_key_an_unknown_path_is_a_401_and_not_a_404(api: Api, path: str) -> None:
    assert api.call("GET", path, tenant=None).status == 401


def test_exactly_these_paths_are_public() -> None:
    assert {"/", "/healthz", "/openapi.json", "/docs"} == PUBLIC_PATHS


def test_the_root_links_to_the_documents_also_behind_the_base_path_of_a_stage(api: Api) -> None:
    api.tick()
    assert set(api.call("GET", "/", tenant=None).body.values()) == {"/docs", "/openapi.json", "/healthz"}
    event = event_of("GET", "/prod/", None, {}, {})
    event["requestContext"]["stage"] = "prod"
    links = json.loads(api.handle(event, LambdaContext())["body"])
    assert set(links.values()) == {"/prod/docs", "/prod/openapi.json", "/prod/healthz"}
    answers = {path: api.handle({**event, "rawPath": path}, LambdaContext()) for path in links.values()}
    assert [answer["statusCode"] for answer in answers.values()] == [200] * 3
    assert json.loads(answers["/prod/openapi.json"]["body"])["servers"][0]["url"] == "/prod"


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "Send an API key"),
        ({"Authorization": "tb_acme_x"}, "The word Bearer before the API key is missing"),
        ({"Authorization": "Basic dGI6"}, "Only the scheme Bearer is read"),
        ({"X-Api-Key": "tb_acme_x"}, "X-Api-Key is not read"),
        ({"Authorization": "Bearer tb_acme_x"}, "This API key is not valid"),
    ],
)
def test_a_request_without_a_key_is_told_how_to_send_one(api: Api, headers: dict[str, str], words: str) -> None:
    answer = api.call("GET", "/v1/jobs", tenant=None, headers=headers)
    assert (answer.status, words in answer.body["detail"]) == (401, True)


def test_a_wrong_key_gets_another_challenge_than_a_missing_one(api: Api) -> None:
    answer = api.call("GET", "/v1/jobs/job_1", tenant=None, headers={"Authorization": "Bearer tb_wrong"})
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert "tb_wrong" not in answer.text


@pytest.mark.parametrize(
    "authorizer",
    [
        None,
        {},
        {"lambda": None},
        {"lambda": {}},
        {"lambda": {"tenant": ""}},
        {"lambda": {"tenant": None}},
        {"tenant": "a"},
    ],
)
def test_an_authorizer_answer_without_a_tenant_is_a_401(api: Api, authorizer: Any) -> None:
    event = event_of("GET", "/v1/jobs/job_1", None, {"tenant": "acme"}, {"tenant": "acme"})
    event["requestContext"]["authorizer"] = authorizer
    assert api.answer(event).status == 401


@pytest.mark.parametrize("path", ["/v1", "/v1/jobs/", "/v1/jobs/a/b", "/v1/job", "/v1/jobs/a/runs/", "/v2/jobs"])
def test_an_unknown_path_is_not_found(api: Api, path: str) -> None:
    answer = api.call("GET", path)
    assert (answer.status, answer.body["type"]) == (404, Problem.NOT_FOUND.type)


@pytest.mark.parametrize("path", sorted({path_of(route) for route in ROUTES}))
def test_a_method_that_a_path_lacks_is_refused_with_the_methods_that_it_has(api: Api, path: str) -> None:
    known = sorted(route.method for route in ROUTES if path_of(route) == path)
    for method in set(METHODS) - set(known):
        answer = api.call(method, path)
        assert (answer.status, answer.body["type"]) == (405, Problem.METHOD_NOT_ALLOWED.type)
        assert answer.headers["Allow"] == ", ".join(known)


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_every_answer_carries_its_request_id_and_forbids_storing(api: Api, route: Route) -> None:
    for tenant in ("acme", None):
        answer = api.call(route.method, path_of(route), tenant=tenant)
        assert answer.headers["X-Request-Id"] == "request-1"
        assert answer.headers["Cache-Control"] == "no-store"
        expected = "application/problem+json" if answer.status >= 400 else route.media_type
        assert answer.headers["Content-Type"] == expected
        assert answer.status < 400 or answer.body["instance"] == "request-1"


def call_all(api: Api) -> list[Any]:
    return [api.call(route.method, path_of(route), BODIES[route.body] if route.body else None) for route in STORED]


def test_a_store_that_does_not_answer_is_a_503_that_may_be_retried() -> None:
    for answer in call_all(broken_api(UnavailableError("throttled"))):
        assert (answer.status, answer.body["type"]) == (503, Problem.UNAVAILABLE.type)
        assert answer.headers["Retry-After"] == "1"


def test_an_unexpected_error_is_a_500_that_is_logged_and_reveals_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for answer in call_all(broken_api(RuntimeError("the secret of the house"))):
        assert (answer.status, answer.body["type"]) == (500, Problem.INTERNAL.type)
        assert "secret" not in answer.text
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(records) == len(STORED)
    for record in records:
        assert record.__dict__["request_id"] == "request-1"
        assert record.exc_info
        assert "the secret of the house" in str(record.exc_info[1])


def test_every_problem_has_a_type_of_its_own_and_keeps_its_slug_and_status() -> None:
    assert len({problem.type for problem in Problem}) == len(Problem)
    assert {problem.slug: problem.status for problem in Problem} == {
        "malformed-body": 400,
        "invalid-request": 400,
        "unauthenticated": 401,
        "forbidden": 403,
        "tenant-disabled": 403,
        "not-found": 404,
        "method-not-allowed": 405,
        "locks-out": 409,
        "key-revoked": 409,
        "tenant-exists": 409,
        "tenant-enabled": 409,
        "no-session": 409,
        "job-ended": 409,
        "has-children": 409,
        "no-cycles": 409,
        "graph-too-large": 409,
        "job-paused": 409,
        "run-over": 409,
        "run-under-way": 409,
        "task-in-use": 409,
        "calendar-exists": 409,
        "calendar-in-use": 409,
        "too-many-freezes": 409,
        "too-deep": 409,
        "too-many-items": 409,
        "stale-attempt": 409,
        "lease-expired": 409,
        "no-callback-expected": 409,
        "stale-version": 412,
        "body-too-large": 413,
        "unsupported-media-type": 415,
        "idempotency-conflict": 422,
        "quota-exceeded": 429,
        "internal": 500,
        "unavailable": 503,
        "unhealthy": 503,
    }


def test_requests_of_two_tenants_do_not_see_each_other(api: Api) -> None:
    first = api.create(name="one")
    second = json.loads(api.call("POST", "/v1/jobs", {"handler": "https://example.com"}, tenant="globex").text)
    assert first["jobId"] != second["jobId"]
    assert api.call("GET", f"/v1/jobs/{second['jobId']}").status == 404


@pytest.mark.parametrize("name", ["#", "a b", "ä", "%2e%2e", "a;b", "<>", "a" * 5000])
@pytest.mark.parametrize(
    "path",
    ["/v1/jobs/{}", "/v1/jobs/{}/runs", "/v1/runs/{}", "/v1/jobs/{}/backfills", "/v1/jobs/job_1/backfills/{}"],
)
def test_an_id_of_impossible_characters_is_not_found(api: Api, path: str, name: str) -> None:
    assert api.call("GET", path.format(name)).status == 404


@pytest.mark.parametrize("name", ["a~b", "a:b", "a b", "ü", "a@b", "%41"])
@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/jobs/{}", {"handler": "https://example.com"}), ("/v1/tasks/{}", {"handler": "https://example.com"})],
)
def test_a_new_id_of_impossible_characters_is_refused_by_its_field(
    api: Api, path: str, body: dict[str, str], name: str
) -> None:
    assert api.call("PUT", path.format(name), body).bad_fields() == [path.split("/")[2][:-1] + "Id"]
    assert api.call("PUT", path.format(name), body, role="viewer").status == 403


WITHOUT_FIELDS = ["/v1/jobs/{}/pause", "/v1/jobs/{}/resume"]


@pytest.mark.parametrize("path", WITHOUT_FIELDS)
@pytest.mark.parametrize("raw", [b"", b" ", b"{}", b" {} "])
def test_a_route_without_fields_accepts_no_body_and_an_empty_object(api: Api, path: str, raw: bytes) -> None:
    assert api.call("POST", path.format(api.create(everySeconds=60)["jobId"]), raw=raw).status == 200


@pytest.mark.parametrize("path", WITHOUT_FIELDS)
@pytest.mark.parametrize(
    ("raw", "headers", "status", "fields"),
    [
        (b'{"until": 5, "x": null}', {}, 400, ["until", "x"]),
        (b"[]", {}, 400, None),
        (b"{", {}, 400, None),
        (b"null", {}, 400, None),
        (b"{}", {"Content-Type": "text/plain"}, 415, None),
    ],
)
def test_a_route_without_fields_refuses_every_other_body(
    api: Api, path: str, raw: bytes, headers: dict[str, str], status: int, fields: list[str] | None
) -> None:
    job = api.create(everySeconds=60)
    answer = api.call("POST", path.format(job["jobId"]), raw=raw, headers=headers)
    assert answer.status == status
    assert fields is None or answer.bad_fields() == fields
    assert api.call("GET", f"/v1/jobs/{job['jobId']}").headers["ETag"] == '"1"'
