"""The generic request, its errors and its pages."""

import asyncio

import httpx
import pytest

from tests.client.in_memory import async_client, client
from tests.console.world import World
from timeball.client import ConfigurationError, Conflict, Invalid, NotAllowed, NotFound, Stale, Timeball

HOOK = {"handler": "https://example.com/hook"}


def test_a_request_returns_the_json_of_its_answer(timeball: Timeball) -> None:
    made = timeball.request("PUT", "/v1/jobs/report", {**HOOK, "cronExpression": "0 2 * * *"})
    assert made["jobId"] == "report"
    assert timeball.request("get", "/v1/jobs", query={"status": "pending", "limit": 1})["items"][0]["jobId"] == "report"


def test_a_request_with_an_event_loop_returns_the_same(world: World) -> None:
    async def ask() -> str:
        async with async_client(world) as timeball:
            made = await timeball.request("PUT", "/v1/jobs/report", HOOK)
            return str(made["jobId"])

    assert asyncio.run(ask()) == "report"


def test_a_list_asks_for_one_page_after_the_other(timeball: Timeball) -> None:
    for number in range(5):
        timeball.request("PUT", f"/v1/jobs/job-{number}", {**HOOK, "everySeconds": 3600})
    listed = timeball.pages("/v1/jobs", query={"limit": 2})
    assert [len(page) for page in listed.pages()] == [2, 2, 1]
    assert sorted(job["jobId"] for job in listed) == [f"job-{number}" for number in range(5)]


def test_a_bad_field_is_named(timeball: Timeball) -> None:
    with pytest.raises(Invalid) as refused:
        timeball.request("PUT", "/v1/jobs/report", {**HOOK, "cronExpression": "0 25 * * *", "maxRetries": -1})
    assert {bad.field for bad in refused.value.errors} == {"cronExpression", "maxRetries"}
    assert "maxRetries: " in str(refused.value)
    assert refused.value.request_id


def test_each_refusal_has_its_type(world: World, timeball: Timeball) -> None:
    timeball.request("PUT", "/v1/jobs/report", {**HOOK, "everySeconds": 3600})
    with pytest.raises(NotFound):
        timeball.request("GET", "/v1/jobs/other")
    with pytest.raises(Stale):
        timeball.request("POST", "/v1/jobs/report/pause", headers={"If-Match": '"7"'})
    timeball.request("DELETE", "/v1/jobs/report")
    with pytest.raises(Conflict) as ended:
        timeball.request("POST", "/v1/jobs/report/pause")
    assert ended.value.type == "job-ended"
    with pytest.raises(NotAllowed), client(world, "viewer") as viewer:
        viewer.request("DELETE", "/v1/jobs/report")


def test_a_page_of_another_server_is_no_answer() -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, html="<h1>Welcome</h1>", request=request)

    with (
        Timeball("http://127.0.0.1:9", "tb_a.b_c", transport=httpx.MockTransport(serve)) as timeball,
        pytest.raises(ConfigurationError, match=r"http://127\.0\.0\.1:9 is not Timeball's API: it answered text/html"),
    ):
        timeball.request("GET", "/v1/jobs")
