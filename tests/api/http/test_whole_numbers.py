"""JSON Schema calls `2.0` an integer, so it is one here; what is any JSON stays as it was sent."""

import pytest

from tests.api.client import Api

HANDLER = {"handler": "https://example.com"}


@pytest.mark.parametrize("field", ["maxRetries", "timeoutSeconds", "delaySeconds"])
def test_a_whole_number_may_have_a_point(api: Api, field: str) -> None:
    assert api.call("POST", "/v1/jobs", {**HANDLER, field: 2.0}).body == {
        **api.call("POST", "/v1/jobs", {**HANDLER, field: 2}).body,
        "jobId": "job_00000000000000000000000001",
    }


@pytest.mark.parametrize("value", [2.5, 1e300, "2", True])
def test_what_is_no_whole_number_is_refused(api: Api, value: object) -> None:
    assert api.call("POST", "/v1/jobs", {**HANDLER, "maxRetries": value}).bad_fields() == ["maxRetries"]


def test_within_an_object_it_is_the_same(api: Api) -> None:
    job = api.create(everySeconds=60, retryPolicy={"baseSeconds": 3.0}, catchUp={"maxAgeSeconds": 9.0})
    assert (job["retryPolicy"]["baseSeconds"], job["catchUp"]["maxAgeSeconds"]) == (3, 9)


def test_a_payload_keeps_its_points(api: Api) -> None:
    assert api.work_of(api.create(payload=2.0)["jobId"]).payload == "2.0"
    assert api.work_of(api.create(payload={"a": 2.0})["jobId"]).payload == '{"a":2.0}'
