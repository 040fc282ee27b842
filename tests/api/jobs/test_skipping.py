"""Skipping the next fire of a job over the API: the answer, and the refusals."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.domain.time.instants import SECOND_MS

HOURLY = {"everySeconds": 3600, "anchorAt": "2026-11-21T10:00:00Z"}


def skip(api: Api, job: Any, **headers: str) -> Answer:
    return api.call(
        "POST", f"/v1/jobs/{job['jobId']}/skip-next", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def test_the_next_fire_becomes_a_skipped_row_and_is_no_next_run_any_more(api: Api) -> None:
    job = api.create(**HOURLY)
    answer = skip(api, job)
    assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
    assert (answer.body["nextRunAt"], len(answer.body["nextRuns"])) == ("2026-11-21T11:00:00.000Z", 5)
    row = answer.body["latestRun"]
    assert (row["fireTime"], row["status"], row["reason"]) == (
        "2026-11-21T10:00:00.000Z",
        "skipped",
        "skipped_manually",
    )
    listed = api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]
    assert [one["runId"] for one in listed] == [row["runId"]]
    assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["nextRunAt"] == "2026-11-21T11:00:00.000Z"


def test_a_fire_that_was_sent_already_is_no_next_run_any_more(api: Api) -> None:
    job = api.create(everySeconds=60, anchorAt="2026-11-21T09:30:03Z")
    api.dispatch()
    answer = skip(api, job)
    assert answer.body["latestRun"]["fireTime"] == "2026-11-21T09:30:03.000Z"
    assert answer.body["nextRunAt"] == "2026-11-21T09:31:03.000Z"


def test_the_same_key_skips_one_fire(api: Api) -> None:
    job = api.create(**HOURLY)
    first, again = skip(api, job, Idempotency_Key="k"), skip(api, job, Idempotency_Key="k")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.body["latestRun"] == first.body["latestRun"]
    assert skip(api, job, Idempotency_Key="another").body["nextRunAt"] == "2026-11-21T12:00:00.000Z"


@pytest.mark.parametrize(("verb", "problem"), [("pause", "job-paused"), ("DELETE", "job-ended")])
def test_a_job_without_a_next_fire_is_a_conflict(api: Api, verb: str, problem: str) -> None:
    job = api.create(**HOURLY)
    path = f"/v1/jobs/{job['jobId']}"
    api.call("DELETE", path) if verb == "DELETE" else api.call("POST", f"{path}/{verb}")
    answer = skip(api, job)
    assert (answer.status, answer.body["type"]) == (409, f"urn:timeball:problem:{problem}")


def test_a_one_off_under_way_has_no_fire_to_skip(api: Api) -> None:
    job = api.create(delaySeconds=3)
    api.dispatch()
    assert skip(api, job).body["latestRun"]["reason"] == "skipped_manually"
    api.clock.advance(10 * SECOND_MS)
    assert skip(api, job).status == 409


def test_a_stale_version_an_unknown_job_and_a_field_skip_nothing(api: Api) -> None:
    job = api.create(**HOURLY)
    assert skip(api, job, If_Match='"9"').status == 412
    assert skip(api, {"jobId": "nobody"}).status == 404
    assert api.call("POST", f"/v1/jobs/{job['jobId']}/skip-next", {"count": 2}).status == 400
    assert api.store.runs == {}
