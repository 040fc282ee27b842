"""Every random request gets one of the documented answers, and never a 500."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.api.client import DOCUMENT, NOW, Api
from tests.api.http.requests import parameters_of
from tests.api.http.strategies import ANYTHING, GOOD_JOBS, JOBS, SETTINGS, TELLING, VALID_JOBS
from tests.api.runs.rows import dead, waiting
from timeball.api.backfills.request import BackfillRequest
from timeball.api.dead_letters.request import DeadLetterFilter, ReplayRequest
from timeball.api.http.cursor import cursor_of
from timeball.api.http.request_model import aliases
from timeball.api.runs.callbacks import CompleteRequest, FailRequest
from timeball.api.schedules.preview import PreviewRequest
from timeball.targets.http.addresses import parse_url

BACKFILLS, RUNS = "/v1/jobs/{jobId}/backfills", "/v1/jobs/{jobId}/runs"
STATUSES = {201, 400}
SCHEDULES = set(aliases(PreviewRequest))


JOB_SCHEMA = Draft202012Validator({**DOCUMENT, "$ref": "#/components/schemas/JobRequest"})


def test_random_jobs_are_created_or_refused_and_created_ones_fit_the_schema() -> None:
    @SETTINGS
    @given(JOBS | GOOD_JOBS | VALID_JOBS)
    def try_it(body: dict[str, Any]) -> None:
        api = Api()
        answer = api.call("POST", "/v1/jobs", body)
        assert answer.status in STATUSES, answer.text
        assert bool(api.store.jobs) == (answer.status == 201)
        if answer.status == 201:
            assert not [*JOB_SCHEMA.iter_errors(body)]
            assert api.call("GET", answer.headers["Location"]).status == 200
            assert api.call("DELETE", answer.headers["Location"]).status == 200

    try_it()


def test_random_jobs_are_put_once_or_refused_and_a_repeat_changes_nothing() -> None:
    @SETTINGS
    @given(VALID_JOBS, JOBS | GOOD_JOBS | VALID_JOBS)
    def try_it(first: dict[str, Any], second: dict[str, Any]) -> None:
        api = Api()
        for body in (first, second):
            before = dict(api.store.jobs)
            answer = api.call("PUT", "/v1/jobs/nightly", body)
            assert answer.status in {200, 201, 400}, answer.text
            if answer.status == 400:
                assert api.store.jobs == before
                continue
            again = api.call("PUT", "/v1/jobs/nightly", body)
            assert (again.status, again.headers["ETag"]) == (200, answer.headers["ETag"]), again.text

    try_it()


def test_random_batches_have_a_result_for_each_item() -> None:
    @SETTINGS
    @given(st.lists(JOBS | GOOD_JOBS | ANYTHING, max_size=4))
    def try_it(jobs: list[Any]) -> None:
        api = Api()
        answer = api.call("POST", "/v1/jobs:batch", {"jobs": jobs})
        if "surrogate" in answer.text:
            return  # not even text, so no item is read
        assert answer.status == (200 if jobs else 400), answer.text
        statuses = [item["status"] for item in answer.body["items"]] if jobs else []
        assert set(statuses) <= STATUSES
        assert len(api.store.jobs) == statuses.count(201)

    try_it()


def test_random_patches_change_a_job_or_are_refused() -> None:
    @SETTINGS
    @given(VALID_JOBS, JOBS | GOOD_JOBS | VALID_JOBS)
    def try_it(body: dict[str, Any], patch: dict[str, Any]) -> None:
        api = Api()
        created = api.call("POST", "/v1/jobs", body)
        if created.status == 400:
            return  # the job's times have passed
        path = created.headers["Location"]
        before = dict(api.store.jobs)
        answer = api.call("PATCH", path, patch)
        assert answer.status in {200, 400}, answer.text
        if answer.status == 400:
            assert api.store.jobs == before
            return
        assert answer.body["version"] in {1, 2}
        again = api.call("PATCH", path, {**patch, "delaySeconds": None})
        assert (again.status, again.headers["ETag"]) == (200, answer.headers["ETag"]), again.text
        assert api.call("GET", path).status == 200

    try_it()


def test_random_backfills_and_triggers_are_made_or_refused() -> None:
    @SETTINGS
    @given(
        VALID_JOBS,
        st.dictionaries(st.sampled_from(aliases(BackfillRequest)) | st.text(max_size=5), TELLING | ANYTHING),
        st.dictionaries(st.sampled_from(["payload"]) | st.text(max_size=5), TELLING | ANYTHING),
        st.dictionaries(st.sampled_from(parameters_of(BACKFILLS)) | st.text(max_size=5), st.text(max_size=30)),
    )
    def try_it(job: dict[str, Any], backfill: dict[str, Any], run: dict[str, Any], query: dict[str, str]) -> None:
        api = Api()
        created = api.call("POST", "/v1/jobs", job)
        if created.status == 400:
            return  # the job's times have passed
        path = created.headers["Location"]
        past = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z"}
        for body in (backfill, past, {**backfill, **past}):
            assert api.call("POST", f"{path}/backfills", body).status in {200, 201, 400}
        assert api.call("POST", f"{path}/trigger", run).status in {201, 400}
        assert api.call("GET", f"{path}/backfills", query=query).status in {200, 400}

    try_it()


WORDS = st.dictionaries(
    st.sampled_from(sorted({*aliases(CompleteRequest), *aliases(FailRequest)})) | st.text(max_size=5),
    TELLING | ANYTHING,
)
GOOD_WORDS = st.fixed_dictionaries(
    {"attempt": st.integers(0, 2)},
    optional={"result": ANYTHING, "error": st.text(max_size=20), "retriable": st.booleans()},
)


def test_random_reports_of_targets_are_accepted_or_refused() -> None:
    @SETTINGS
    @given(st.lists(st.tuples(st.sampled_from(["complete", "fail", "heartbeat"]), WORDS | GOOD_WORDS), max_size=4))
    def try_it(words: list[tuple[str, dict[str, Any]]]) -> None:
        api = Api()
        run = waiting(api)
        for verb, body in words:
            answer = api.call("POST", f"/v1/runs/{run.id}/{verb}", body)
            assert answer.status in {200, 400, 409}, answer.text
            read = api.call("GET", f"/v1/runs/{run.id}")
            assert read.status == 200
            assert answer.status != 200 or read.body["status"] == answer.body["status"]

    try_it()


FILTERS = st.dictionaries(
    st.sampled_from([*aliases(DeadLetterFilter), "x"]), st.sampled_from(["not_retriable", "503", NOW]) | TELLING
)
CHOICES = st.dictionaries(
    st.sampled_from(aliases(ReplayRequest)) | st.text(max_size=5),
    FILTERS | st.lists(st.just("job_1.5.s") | st.text(), max_size=3) | TELLING,
)
GOOD_CHOICES = st.fixed_dictionaries(
    {"filter": st.just({})},
    optional={
        "limit": st.integers(0, 3),
        "perSecond": st.integers(1, 3),
        "cursor": st.text()
        | st.text("0123456789 .-x", max_size=60).map(
            lambda text: cursor_of(['["replay",10,"acme",null,null,null,null,0,13569465600000]'], [text])
        ),
    },
)


def test_random_dead_letters_are_listed_and_processed_or_refused() -> None:
    @SETTINGS
    @given(
        CHOICES | GOOD_CHOICES,
        st.dictionaries(st.sampled_from(parameters_of("/v1/dead-letters")) | st.text(max_size=5), st.text(max_size=30)),
    )
    def try_it(body: dict[str, Any], query: dict[str, str]) -> None:
        api = Api()
        job = api.create(everySeconds=60)
        for second in range(3):
            dead(api, job, second - 3)
        for asked in (body, {name: value for name, value in body.items() if name != "perSecond"}):
            for verb in ("replay", "discard"):
                answer = api.call("POST", f"/v1/dead-letters:{verb}", asked)
                is_unknown = answer.status == 404 and "fingerprint" in answer.text
                assert is_unknown or answer.status in {200, 400}, answer.text
        listed = api.call("GET", "/v1/dead-letters", query=query)
        assert listed.status in {200, 400, 404}, listed.text
        assert listed.status != 200 or len(listed.body["items"]) <= 3

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
        st.dictionaries(
            st.sampled_from([*parameters_of(RUNS), *parameters_of("/v1/jobs")]) | st.text(max_size=5),
            st.text(max_size=30),
        ),
        st.dictionaries(st.sampled_from(["if-match", "idempotency-key", "content-type", "authorization"]), st.text()),
    )
    def try_it(name: str, query: dict[str, str], headers: dict[str, str]) -> None:
        api = Api()
        job = api.create()
        path = f"/v1/jobs/{job['jobId']}"
        assert api.call("GET", f"{path}/runs", query=query).status in {200, 400}
        assert api.call("GET", "/v1/jobs", query=query).status in {200, 400}
        assert api.call("POST", "/v1/jobs", {"handler": "https://h"}, headers=headers).status in {
            201,
            400,
            415,
        }
        assert api.call("DELETE", path, headers=headers).status in {200, 400, 412}
        assert api.call("GET", f"/v1/jobs/{name}").status in {401, 404}
        assert api.call("GET", f"/v1/runs/{name}").status in {401, 404}
        for verb, body in (
            ("retry", None),
            ("cancel", None),
            ("complete", {"attempt": 1}),
            ("heartbeat", {"attempt": 1}),
        ):
            answer = api.call("POST", f"/v1/runs/{name}/{verb}", body)
            assert answer.status in {404, 405}, answer.text
        assert api.call("DELETE", f"{path}/backfills/{name}", headers=headers).status in {400, 401, 404, 405}
        for verb in ("pause", "resume", "trigger"):
            assert api.call("POST", f"{path}/{verb}", headers=headers).status in {200, 201, 400, 409, 412}
        assert api.call("PATCH", path, {}, headers=headers).status in {200, 400, 409, 412, 415}

    try_it()


def test_every_url_that_is_accepted_can_be_read_by_the_caller() -> None:
    @SETTINGS
    @given(st.sampled_from(["http://", "https://", "HTTPS://"]), st.text("a1.-_:[]@?/%\\+~|{}^`\"'", max_size=20))
    def try_it(scheme: str, rest: str) -> None:
        answer = Api().call("POST", "/v1/jobs", {"handler": scheme + rest})
        assert answer.status in STATUSES
        assert answer.status == 400 or parse_url(scheme + rest).host

    try_it()
