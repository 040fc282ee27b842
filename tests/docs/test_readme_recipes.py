"""The commands of the README's recipes run as they stand there; the pipeline has a night after its first command."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.api.client import Api
from tests.docs.readme import ROOT, read, session
from tests.engine.play import Play
from tests.engine.service import Service
from tests.urls import url_of
from timeball.api.app import build_api
from timeball.domain.time.instants import DAY_MS, SECOND_MS, parse_instant
from timeball.engine.context import Rules
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered

PIPELINE, RECIPES = (
    re.findall(rf"<!-- {kind} -->\n```sh\n(.*?)^```$", read(ROOT / "README.md"), re.DOTALL | re.MULTILINE)
    for kind in ("pipeline", "recipe")
)
EVENING, NIGHT = parse_instant("2026-11-22T18:00:00Z"), parse_instant("2026-11-23T02:00:00+01:00")


@pytest.fixture
def service() -> Iterator[Service]:
    """A service with targets of which one path answers 500."""
    play = Play(at=EVENING, rules=Rules())
    with Service(play) as service:

        async def call(call: Call) -> Answer:
            now = play.clock.now()
            service.target.calls.append((now, call))
            return answered(call, now, now, 500 if url_of(call.work.target).endswith("/orders") else 200)

        service.target.call = call  # type: ignore[method-assign]
        yield service


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    """Serve the API of the service over HTTP, and yield its URL."""
    api = Api(service.play.store, service.play.clock)  # type: ignore[arg-type]
    api.handle = build_api(replace(api.edge, context=service.play.context()))

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path, _, query = self.path.partition("?")
            answer = api.call(self.command, path, raw=body, query=dict(parse_qsl(query)))
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(answer.text.encode())

        do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815 - as the base calls them

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def run(url: str, *blocks: str) -> list[Any]:
    """Run blocks of the README; return the answer of each request of the last block."""
    *before, last = blocks
    functions = re.findall(r"^timeball\(\) \{.*?^\}$", session(), re.DOTALL | re.MULTILINE)
    kept = [line for block in before for line in block.splitlines() if line.startswith(("night()", "NIGHT="))]
    ran = subprocess.run(
        ["bash", "-eu", "-c", "\n".join([*functions, *kept, last])],  # noqa: S607 -- as a reader runs it
        env={"PATH": os.environ["PATH"], "API": url, "KEY": "tb_key"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert set(lines[1::2]) <= {"200", "201", "202"}, ran.stdout
    return [json.loads(line) for line in lines[::2]]


def test_a_failed_night_is_repaired_and_continues(service: Service, url: str) -> None:
    made, asked_in_the_morning, mended, asked_again = PIPELINE
    assert [job["jobId"] for job in run(url, made)] == ["extract", "customers", "orders", "load"]
    service.until(NIGHT + 60 * SECOND_MS)
    (cycle,) = run(url, asked_in_the_morning)
    assert {item["jobId"]: item["status"] for item in cycle["items"]} == {
        "extract": "succeeded", "customers": "succeeded", "orders": "failed", "load": "blocked",
    }  # fmt: skip
    assert (cycle["fireTime"], cycle["items"][-1]["waitingFor"]) == ("2026-11-23T01:00:00.000Z", ["orders"])
    assert cycle["items"][-1]["blockedBy"]["path"] == ["orders", "load"]
    _, operation = run(url, asked_in_the_morning, mended)
    assert (operation["action"], operation["progress"]["matched"]) == ("rerun", 1)
    service.until(service.play.clock.now() + 10 * SECOND_MS)
    (cycle,) = run(url, asked_in_the_morning, asked_again)
    assert {item["status"] for item in cycle["items"]} == {"succeeded"}
    service.until(NIGHT + DAY_MS + 10 * SECOND_MS)
    (cycle,) = run(url, asked_in_the_morning)
    assert cycle["fireTime"] == "2026-11-24T01:00:00.000Z"
    assert {item["status"] for item in cycle["items"]} == {"succeeded"}
    called = [url_of(call.work.target).rpartition("/")[2] for _, call in service.target.calls]
    assert (called[-4], {*called[-3:-1]}, called[-1]) == ("extract", {"customers", "orders-mended"}, "load")


def test_recipes_do_what_the_readme_says(service: Service, url: str) -> None:
    limits, on_an_event, dead_letters = RECIPES
    batch, limit = run(url, limits)
    assert [item["job"]["concurrencyLimit"] for item in batch["items"]] == [
        {"name": "warehouse", "limit": 2, "onFull": "wait"}
    ] * 2
    assert (limit["limit"], limit["perSecond"]) == (8, 5)
    job, event = run(url, on_an_event)
    assert (job["scheduleType"], event["source"], event["eventId"]) == ("event", "shop", "7")
    run(url, 'timeball "$API/v1/jobs" -d \'{"handler": "https://example.com/orders", "maxRetries": 0}\'')
    service.until(service.play.clock.now() + 10 * SECOND_MS)
    listed, replayed = run(url, dead_letters)
    (dead,) = listed["items"]
    assert (dead["httpStatus"], replayed["runs"][0]["runId"]) == (500, dead["runId"])
