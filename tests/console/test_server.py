"""The server of the console's tests: the API with its authorizer, sessions, seeds and a clock that a test moves."""

import contextlib
import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.console.seeds import HOSTILE
from tests.console.server import ConsoleServer


def ask(server: ConsoleServer, method: str, path: str, body: object = None, key: str | None = None) -> tuple[int, Any]:
    """Return the status and the JSON of a request over a socket."""
    connection = HTTPConnection(urlsplit(server.base).netloc, timeout=20)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    with contextlib.closing(connection), connection.getresponse() as answer:
        return answer.status, json.loads(answer.read())


def test_a_link_begins_a_session_once(console: ConsoleServer) -> None:
    address, _, code = console.link("operator").partition("#s=")
    assert address == f"{console.base}console"
    status, session = ask(console, "POST", "/v1/sessions", {"code": code})
    assert (status, session["role"], session["keyRole"]) == (201, "viewer", "operator")
    assert ask(console, "GET", "/v1/jobs", key=session["key"])[0] == 200
    assert ask(console, "POST", "/v1/jobs", {"handler": "https://shop.example"}, session["key"])[0] == 403
    assert ask(console, "POST", "/v1/sessions", {"code": code})[0] == 401


def test_a_key_that_nobody_has_is_refused(console: ConsoleServer) -> None:
    for key in ("tb_acme.000000000000_0", "tbs_x", "x", None):
        assert ask(console, "GET", "/v1/jobs", key=key)[0] == 401


def test_a_link_is_good_for_ten_minutes(console: ConsoleServer) -> None:
    code = console.link().partition("#s=")[2]
    console.advance(601)
    assert ask(console, "POST", "/v1/sessions", {"code": code})[0] == 401


def test_jobs_run_when_the_clock_is_moved(console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/soon", {"handler": "https://shop.example/fail/500", "delaySeconds": 60})
    console.advance(59)
    assert console.send("GET", "/v1/jobs/soon/runs")["items"][0]["status"] == "queued"
    console.advance(3600)
    assert console.send("GET", "/v1/jobs/soon/runs")["items"][0]["status"] == "failed"


@pytest.mark.parametrize(
    ("seed", "jobs", "groups"), [("empty", 0, 0), ("demo", 17, 3), ("hostile", 2 * len(HOSTILE), 2 * len(HOSTILE))]
)
def test_a_seed_makes_what_it_promises(console: ConsoleServer, seed: str, jobs: int, groups: int) -> None:
    console.seed(seed)
    assert len(console.send("GET", "/v1/jobs")["items"]) == jobs
    assert len({one["jobId"] for one in console.send("GET", "/v1/dead-letters:groups")["items"]}) == groups
    running = {one["jobId"] for one in console.send("GET", "/v1/now")["running"]}
    assert (seed == "demo") == ({"import-orders", "encode-videos"} <= running)
