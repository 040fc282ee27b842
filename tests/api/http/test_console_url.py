"""Answers about jobs, runs and cycles name their page in the console, wherever the console is."""

import json
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.runs.rows import dead, waiting
from timeball.api.pages import console_of

BELOW = "https://timeball.example/console"


@pytest.fixture
def api() -> Api:
    return Api(console=BELOW)


@pytest.mark.parametrize(
    ("setting", "headers", "base", "address"),
    [
        (None, {"host": "api.example"}, "", None),  # no console
        ("https://ops.example/tb", {"host": "api.example"}, "/prod", "https://ops.example/tb"),  # the setting wins
        ("", {"host": "api.example"}, "", "https://api.example/console"),
        ("", {"host": "api.example", "x-forwarded-proto": "http"}, "", "http://api.example/console"),
        ("", {"host": "api.example"}, "/timeball", "https://api.example/timeball/console"),  # a mapped domain
        ("", {}, "", None),  # nothing to go by
    ],
)
def test_the_console_is_where_the_setting_says_or_on_the_host_of_the_request(
    setting: str | None, headers: dict[str, str], base: str, address: str | None
) -> None:
    assert console_of(setting, headers, base) == address


def test_a_job_its_runs_and_its_cycles_name_their_pages(api: Api) -> None:
    api.call("PUT", "/v1/jobs/extract", {"handler": "https://example.com", "everySeconds": 60})
    api.call("PUT", "/v1/jobs/load", {"handler": "https://example.com", "dependsOn": ["extract"]})
    job = f"{BELOW}/#/jobs/extract"
    assert api.call("GET", "/v1/jobs/extract").body["consoleUrl"] == job
    assert job in {one["consoleUrl"] for one in api.call("GET", "/v1/jobs").body["items"]}
    assert job in {one["consoleUrl"] for one in api.call("GET", "/v1/jobs", query={"fields": "summary"}).body["items"]}
    assert api.call("POST", "/v1/jobs/extract/pause").body["consoleUrl"] == job
    run = dead(api, {"jobId": "extract"})
    shown: Any = api.call("GET", f"/v1/runs/{run.id}").body
    assert shown["consoleUrl"] == f"{BELOW}/#/runs/{str(run.id).replace(':', '%3A')}"
    for path in ("/v1/jobs/extract/runs", "/v1/runs", "/v1/dead-letters"):
        assert shown["consoleUrl"] in {one["consoleUrl"] for one in api.call("GET", path).body["items"]}, path
    cycle = api.call("GET", f"/v1/cycles/extract/{shown['fireTime']}").body
    assert cycle["consoleUrl"] == f"{BELOW}/#/cycles/extract/{cycle['cycleId'].replace(':', '%3A')}"
    assert cycle["items"][0]["run"]["consoleUrl"] == shown["consoleUrl"]


def test_a_fresh_job_and_its_trigger_name_their_pages(api: Api) -> None:
    job = api.create(everySeconds=60)
    assert job["consoleUrl"] == f"{BELOW}/#/jobs/{job['jobId']}"
    run = api.call("POST", f"/v1/jobs/{job['jobId']}/trigger").body
    assert run["consoleUrl"].startswith(f"{BELOW}/#/runs/{job['jobId']}")


def test_without_a_console_there_is_no_address() -> None:
    api = Api()
    assert api.create(everySeconds=60)["consoleUrl"] is None
    assert api.call("GET", f"/v1/runs/{waiting(api).id}").body["consoleUrl"] is None


def test_the_address_is_on_the_host_that_the_caller_asked() -> None:
    api = Api(console="")
    path = f"/v1/jobs/{api.create(everySeconds=60)['jobId']}"
    for host in ("one.example", "two.example"):
        answer = api.call("GET", path, headers={"Host": host})
        assert answer.body["consoleUrl"] == f"https://{host}/console/#{path.removeprefix('/v1')}"
    assert api.call("GET", path).body["consoleUrl"] is None


def test_a_payload_that_looks_like_an_address_is_shown_as_it_is(api: Api) -> None:
    payload = {"consoleUrl": "/#/jobs/mine"}
    assert json.dumps(api.create(everySeconds=60, payload=payload)["payload"]) == json.dumps(payload)
