"""As in JSON Schema, `2.0` is an integer; a value that may be any JSON stays as it was sent."""

import pytest

from tests.api.client import Api

HANDLER = {"handler": "https://example.com"}


@pytest.mark.parametrize("field", ["maxRetries", "timeoutSeconds", "delaySeconds"])
def test_a_whole_number_may_have_a_decimal_point(api: Api, field: str) -> None:
    assert api.call("POST", "/v1/jobs", {**HANDLER, field: 2.0}).body == {
        **api.call("POST", "/v1/jobs", {**HANDLER, field: 2}).body,
        "jobId": "job_00000000000000000000000001",
    }


@pytest.mark.parametrize("value", [2.5, 1e300, "2", True])
def test_a_number_that_is_not_whole_is_refused(api: Api, value: object) -> None:
    assert api.call("POST", "/v1/jobs", {**HANDLER, "maxRetries": value}).bad_fields() == ["maxRetries"]


def test_whole_numbers_within_objects_follow_the_same_rule(api: Api) -> None:
    job = api.create(everySeconds=60, retryPolicy={"baseSeconds": 3.0}, catchUp={"maxAgeSeconds": 9.0})
    assert (job["retryPolicy"]["baseSeconds"], job["catchUp"]["maxAgeSeconds"]) == (3, 9)


def test_a_payload_keeps_its_decimal_points(api: Api) -> None:
    assert api.work_of(api.create(payload=2.0)["jobId"]).payload == "2.0"
    assert api.work_of(api.create(payload={"a": 2.0})["jobId"]).payload == '{"a":2.0}'
