"""The endpoint in docs/reference/webhooks.md works: run as it stands there, against the API over HTTP."""

import json
import queue
import re
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import ModuleType
from typing import Any

import pytest

from tests.api.client import SECRET, Answer, Api
from tests.api.runs.rows import LEASE_MS, MARGIN_MS, row
from tests.docs.readme import ROOT, read
from timeball.api.runs.callbacks import CompleteRequest, FailRequest, HeartbeatRequest
from timeball.domain.attempts.callback import handed_over
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import asked_to_stop, claimed
from timeball.ports.target import Call
from timeball.targets.http.request import request_of
from timeball.targets.http.verdict import ACCEPTED

PAGE = read(ROOT / "docs/reference/webhooks.md")
(SOURCE,) = re.findall(r"^<!-- example: endpoint -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(JOB,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
WITHIN_SECONDS = 300


class Trouble(Enum):
    """A failure instead of an answer: a status; or nothing, or part of the answer, and the connection ends."""

    NONE = "none"
    UNAVAILABLE = "503"
    TOO_MANY = "429"
    UNHEARD = "unheard"
    HEARD = "heard"
    BREAKS_OFF = "breaks off"


class Bridge:
    """The API of a test over HTTP, one request at a time; `heard` has each report of the endpoint, and its answer.

    Each of the first requests meets one of `troubles`.
    """

    def __init__(self, api: Api) -> None:
        self.heard: queue.Queue[tuple[str, Answer]] = queue.Queue()
        self.troubles: list[Trouble] = []
        bridge = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                trouble = bridge.troubles.pop(0) if bridge.troubles else Trouble.NONE
                if trouble is Trouble.UNHEARD:
                    return
                if trouble.value.isdecimal():
                    self.send_error(int(trouble.value))
                    return
                answer = api.call("POST", self.path, raw=body, tenant=None, headers=dict(self.headers.items()))
                bridge.heard.put((self.path.rpartition("/")[2], answer))
                if trouble is Trouble.HEARD:
                    return
                self.send_response(answer.status)
                if trouble is Trouble.BREAKS_OFF:
                    self.send_header("Content-Length", "100000")
                self.end_headers()
                self.wfile.write(answer.text.encode())

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def words(self, count: int) -> list[tuple[str, int]]:
        """Wait for this many reports; return each with the status of its answer."""
        heard = [self.heard.get(timeout=WITHIN_SECONDS) for _ in range(count)]
        return [(word, answer.status) for word, answer in heard]


def url_of(server: HTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    """Serve in the background; yield the URL."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield url_of(server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def bridge(api: Api) -> Iterator[Bridge]:
    bridge = Bridge(api)
    with serving(bridge.server):
        yield bridge


@pytest.fixture
def url(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the endpoint of the page, and yield its URL."""
    monkeypatch.setenv("API", url_of(bridge.server))
    module = ModuleType("endpoint")
    monkeypatch.setitem(sys.modules, "endpoint", module)
    exec(compile(SOURCE, "docs/reference/webhooks.md", "exec"), vars(module))  # noqa: S102 - code of our own page
    monkeypatch.setattr(module.Webhook, "log_message", lambda *_: None)
    with serving(HTTPServer(("127.0.0.1", 0), module.Webhook)) as url:
        yield url


@pytest.fixture
def run(api: Api) -> Run:
    """Return the run of the job on the page, whose target has just answered 202."""
    created = api.call("POST", "/v1/jobs", json.loads(JOB))
    assert created.status == 201, created.text
    now = api.clock.now()
    live = claimed(api.only_run(), "executor", now, LEASE_MS)
    api.put(handed_over(live, api.store.jobs[live.id.job], now, now, MARGIN_MS))
    return api.only_run()


def call(api: Api, run: Run, url: str, attempt: int = 1) -> int:
    """Call the endpoint as an executor does; return the status of its answer."""
    work = api.work_of(run.id.job.job_id)
    token = token_of(run.id, attempt, SECRET)
    sent = request_of(Call(run.id, attempt, work, 840, (), takes_report=True), api.clock.now(), token)
    assert work.payload is not None
    request = urllib.request.Request(url, work.payload.encode(), dict(sent.headers.items()))  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=WITHIN_SECONDS) as answer:  # noqa: S310 - as above
        return int(answer.status)


def result(api: Api, run: Run) -> Any:
    return api.call("GET", f"/v1/runs/{run.id}").body["result"]


def test_it_answers_202_and_completes_the_run_when_it_is_done(api: Api, bridge: Bridge, url: str, run: Run) -> None:
    assert call(api, run, url) == ACCEPTED
    assert bridge.words(4) == [*[("heartbeat", 200)] * 3, ("complete", 200)]
    assert row(api, str(run.id)).state == "succeeded"
    assert result(api, run) == {"httpStatus": None, "body": '{"parts":3}'}


def test_it_stops_when_it_is_asked_to(api: Api, bridge: Bridge, url: str, run: Run) -> None:
    api.put(asked_to_stop(run, Reason.RUN_CANCELLED))
    assert call(api, run, url) == ACCEPTED
    assert bridge.words(2) == [("heartbeat", 200), ("fail", 200)]
    assert row(api, str(run.id)).state == "cancelled"


def test_it_stops_when_its_attempt_is_outdated(api: Api, bridge: Bridge, url: str, run: Run) -> None:
    api.put(claimed(run, "another", api.clock.now(), LEASE_MS))
    assert call(api, run, url) == ACCEPTED
    assert bridge.words(1) == [("heartbeat", 409)]
    assert row(api, str(run.id)).attempt == 2


@pytest.mark.parametrize("trouble", [trouble for trouble in Trouble if trouble is not Trouble.NONE])
def test_it_repeats_a_report_that_may_not_have_arrived(
    api: Api, bridge: Bridge, url: str, run: Run, monkeypatch: pytest.MonkeyPatch, trouble: Trouble
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    bridge.troubles = [Trouble.NONE] * 3 + [trouble] * 2  # after its heartbeats, when its result could be lost
    assert call(api, run, url) == ACCEPTED
    said = 3 if trouble in (Trouble.HEARD, Trouble.BREAKS_OFF) else 1
    assert bridge.words(3 + said) == [("heartbeat", 200)] * 3 + [("complete", 200)] * said
    assert row(api, str(run.id)).state == "succeeded"
    assert result(api, run) == {"httpStatus": None, "body": '{"parts":3}'}
    assert waits == [1, 1]


def test_it_repeats_a_report_that_finds_no_connection_or_takes_too_long(
    url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert url
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    troubles: list[Exception] = [urllib.error.URLError("refused"), TimeoutError("slow"), ConnectionResetError("reset")]
    connect = urllib.request.urlopen

    def urlopen(*arguments: Any, **more: Any) -> Any:
        if troubles:
            raise troubles.pop(0)
        return connect(*arguments, **more)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    assert (
        sys.modules["endpoint"].tell(str(run.id), "heartbeat", token_of(run.id, 1, SECRET), attempt=1)[
            "cancelRequested"
        ]
        is False
    )
    assert waits == [1, 1, 1]


@pytest.mark.parametrize("model", [CompleteRequest, FailRequest, HeartbeatRequest])
def test_the_page_names_every_field_of_a_report(model: type[HeartbeatRequest]) -> None:
    for field in model.model_fields.values():
        assert re.search(rf"\b{field.alias}\b", PAGE)
