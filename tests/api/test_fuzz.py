"""Whatever is sent, the answer is one of those that are documented, and never a 500."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.api.job_request import JobRequest
from functions.api.paging import RUN_PARAMETERS
from functions.api.preview import PreviewRequest
from tests.api.client import Api
from timeball.aws.http_request import parse_url

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

ALIASES = [field.alias or "" for field in JobRequest.model_fields.values()]
TELLING: st.SearchStrategy[Any] = st.sampled_from(
    [
        "https://example.com",
        "https://[::1]:8443/",
        "https://[::1",
        "https://a\x00b",
        "//x",
        "2026-11-21T09:30:00Z",
        "2399-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00+14:00",
        "24:00",
        "* * * * *",
        "*/7 0-23/2 L * 1#5",
        "PT15M",
        "P9999999W",
        "Europe/Berlin",
        "../UTC",
        "run",
        "high",
        "http",
        "full",
        "\ud800",
        "\u0000",
        "İ",
        -1,
        0,
        1,
        1e308,
        -0.0,
        10**30,
        2**63,
        True,
        None,
        {},
        [],
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | TELLING,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TARGETS = st.dictionaries(st.sampled_from(["type", "url", "method", "headers", "x"]), TELLING | ANYTHING)
POLICIES = st.dictionaries(
    st.sampled_from(["baseSeconds", "factor", "maxSeconds", "jitter", "maxAgeSeconds"]), TELLING | ANYTHING
)
JOBS = st.dictionaries(st.sampled_from(ALIASES) | st.text(max_size=10), TELLING | ANYTHING | TARGETS | POLICIES)
GOOD_JOBS = st.fixed_dictionaries(
    {"handler": st.just("https://example.com")},
    optional={
        "dstPolicy": st.dictionaries(
            st.sampled_from(["gap", "overlap"]), st.sampled_from(["next", "skip", "first", "both", None])
        ),
        "scheduleAt": st.datetimes().map(lambda at: f"{at.isoformat(timespec='milliseconds')}Z"),
        "delaySeconds": st.integers(-1, 2**40),
        "everySeconds": st.integers(0, 2**33),
        "cronExpression": st.from_regex(r"[0-9*/,L#-]{1,4}( [0-9*/,L#-]{1,4}){4}", fullmatch=True),
        "startAt": st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
        "endAt": st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
        "maxRuns": st.integers(-1, 2**31),
        "maxRetries": st.integers(-1, 120),
        "payload": ANYTHING,
    },
)
STATUSES = {201, 400}
SCHEDULES = {field.alias for field in PreviewRequest.model_fields.values()}


def test_random_jobs_are_created_or_refused() -> None:
    @SETTINGS
    @given(JOBS | GOOD_JOBS)
    def try_it(body: dict[str, Any]) -> None:
        api = Api()
        answer = api.call("POST", "/v1/jobs", body)
        assert answer.status in STATUSES, answer.text
        assert bool(api.store.jobs) == (answer.status == 201)
        if answer.status == 201:
            assert api.call("GET", answer.headers["Location"]).status == 200
            assert api.call("DELETE", answer.headers["Location"]).status == 200

    try_it()


def test_random_schedules_are_shown_or_refused() -> None:
    @SETTINGS
    @given(JOBS | GOOD_JOBS, st.dictionaries(st.sampled_from(["from", "count"]), TELLING))
    def try_it(job: dict[str, Any], extent: dict[str, Any]) -> None:
        body = {name: value for name, value in job.items() if name in SCHEDULES} | extent
        api = Api()
        answer = api.call("POST", "/v1/schedules:preview", body)
        assert answer.status in {200, 400}, answer.text
        assert answer.status == 400 or len(answer.body["items"]) <= (body.get("count") or 5)
        assert not api.store.jobs

    try_it()


def test_random_json_and_random_bytes_are_refused() -> None:
    @SETTINGS
    @given(ANYTHING.map(lambda value: json.dumps(value).encode()) | st.binary() | st.text().map(str.encode))
    def try_it(raw: bytes) -> None:
        answer = Api().call("POST", "/v1/jobs", raw=raw)
        assert answer.status == 400, answer.text

    try_it()


def test_random_queries_paths_and_headers_are_answered() -> None:
    @SETTINGS
    @given(
        st.text(max_size=20),
        st.dictionaries(st.sampled_from(RUN_PARAMETERS) | st.text(max_size=5), st.text(max_size=30)),
        st.dictionaries(st.sampled_from(["if-match", "idempotency-key", "content-type", "authorization"]), st.text()),
    )
    def try_it(name: str, query: dict[str, str], headers: dict[str, str]) -> None:
        api = Api()
        job = api.create()
        path = f"/v1/jobs/{job['jobId']}"
        assert api.call("GET", f"{path}/runs", query=query).status in {200, 400}
        assert api.call("POST", "/v1/jobs", {"handler": "https://h"}, headers=headers).status in {
            201,
            400,
            415,
        }
        assert api.call("DELETE", path, headers=headers).status in {200, 400, 412}
        assert api.call("GET", f"/v1/jobs/{name}").status in {401, 404}
        assert api.call("GET", f"/v1/runs/{name}").status in {401, 404}

    try_it()


def test_every_url_that_is_accepted_can_be_read_by_the_caller() -> None:
    @SETTINGS
    @given(st.sampled_from(["http://", "https://", "HTTPS://"]), st.text("a1.-_:[]@?/%\\+~|{}^`\"'", max_size=20))
    def try_it(scheme: str, rest: str) -> None:
        answer = Api().call("POST", "/v1/jobs", {"handler": scheme + rest})
        assert answer.status in STATUSES
        assert answer.status == 400 or parse_url(scheme + rest).host

    try_it()
