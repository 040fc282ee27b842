"""Record an example of each request and each answer: a day of a made-up shop, played on the API in memory.

`python -m docs.examples` writes them; the OpenAPI document shows them, and a test keeps them current. The clock stands
and the ids are counted, so each recording is the same.
"""

# ruff: noqa: INP001 -- a folder of documents with scripts, not a package

import json
from collections.abc import Mapping
from typing import Any

from tests.api.client import Answer, Api
from tests.api.runs.rows import dead, waiting
from timeball.api.openapi.examples import EXAMPLES
from timeball.api.routes import ROUTES

MOST_ITEMS = 2
"""A longer list is cut to this many items in an example."""

REPORT = {
    "name": "Nightly report",
    "target": {"type": "http", "url": "https://shop.example/report"},
    "payload": {"report": "sales"},
    "cronExpression": "0 2 * * *",
    "timezone": "Europe/Berlin",
    "tags": {"team": "sales"},
}
IMPORT = {"handler": "https://shop.example/import", "everySeconds": 3600}
HOLIDAYS = {"timezone": "Europe/Berlin", "dates": ["2026-12-25", "2026-12-26"]}
ORDERED = {
    "id": "order-1",
    "source": "https://shop.example/orders",
    "specversion": "1.0",
    "type": "order.placed",
    "data": {"total": 99},
}
FAILURE = {"attempt": 1, "error": "The warehouse is closed."}
SUBMITTER = {"role": "submitter", "tags": {"team": "sales"}}
KEYS = ("/v1/admin/keys", "/v1/admin/tenants/globex/keys")


class RefusedError(ValueError):
    """The API refused a request of the session."""


class Recorder:
    """A client that keeps, for each operation, the first body that succeeded and the first answer of each status."""

    def __init__(self) -> None:
        self.api = Api(console="https://timeball.example/console")
        self.examples: dict[str, dict[str, Any]] = {}

    def send(self, method: str, path: str, body: object = None, **also: Any) -> Any:  # noqa: ANN401 - as Api.call
        """Send a request that succeeds; return the body of its answer."""
        answer = self.api.call(method, path, body, **also)
        if answer.status >= 300:
            raise RefusedError(f"{method} {path}: {answer.text}")
        self._keep(method, path, body, answer)
        return answer.body

    def _keep(self, method: str, path: str, body: object, answer: Answer) -> None:
        for route in ROUTES:
            if route.method == method and route.path_pattern.fullmatch(path):
                kept = self.examples.setdefault(route.operation_id, {"answers": {}})
                if body is not None:
                    kept.setdefault("body", body)
                kept["answers"].setdefault(str(answer.status), _cut(answer.body))


def _cut(answer: Any) -> Any:  # noqa: ANN401 - any JSON
    is_list = isinstance(answer, Mapping) and isinstance(answer.get("items"), list)
    return {**answer, "items": answer["items"][:MOST_ITEMS]} if is_list else answer


def recorded() -> dict[str, dict[str, Any]]:
    """Play the day, and return the examples by the operation's id."""
    recorder = Recorder()
    for part in (
        _tasks,
        _calendars,
        _jobs,
        _schedules,
        _graphs,
        _backfills,
        _runs,
        _dead_letters,
        _many,
        _admin,
        _sessions,
    ):
        part(recorder)
    return dict(sorted(recorder.examples.items()))


def as_text() -> str:
    """Return the examples as JSON text."""
    return json.dumps(recorded(), indent=1) + "\n"


def _tasks(recorder: Recorder) -> None:
    send = recorder.send
    mail = send("POST", "/v1/tasks", {"name": "Send a mail", "handler": "https://shop.example/mail"})["taskId"]
    send("PUT", "/v1/tasks/thumbnail", {"handler": "https://shop.example/thumbnail"})
    send("PUT", "/v1/tasks/thumbnail", {"handler": "https://shop.example/thumbnail", "timeoutSeconds": 60})
    send("GET", "/v1/tasks")
    send("GET", f"/v1/tasks/{mail}")
    send("DELETE", "/v1/tasks/thumbnail")


def _calendars(recorder: Recorder) -> None:
    send = recorder.send
    send("POST", "/v1/calendars", {"name": "holidays", **HOLIDAYS})
    send(
        "PUT", "/v1/calendars/stocktaking", {"timezone": "UTC", "ranges": [{"from": "2027-01-04", "to": "2027-01-08"}]}
    )
    send("PUT", "/v1/calendars/stocktaking", {"timezone": "UTC", "dates": ["2027-01-04"]})
    send("GET", "/v1/calendars")
    send("GET", "/v1/calendars/holidays")
    send("GET", "/v1/calendars/stocktaking/revisions")
    send("DELETE", "/v1/calendars/stocktaking")
    freeze = {
        "from": "2026-12-24T00:00:00Z",
        "to": "2027-01-02T00:00:00Z",
        "match": {"all": True},
        "reason": "Holidays",
    }
    path = f"/v1/freezes/{send('POST', '/v1/freezes', freeze)['freezeId']}"
    send("GET", "/v1/freezes")
    send("GET", path)
    send("DELETE", path)


def _jobs(recorder: Recorder) -> None:
    send = recorder.send
    once = {**REPORT, "uniqueKey": "report", "uniqueSeconds": 86_400}
    path = f"/v1/jobs/{send('POST', '/v1/jobs', once)['jobId']}"
    send("POST", "/v1/jobs", once)
    send("PUT", "/v1/jobs/import", IMPORT)
    send("PUT", "/v1/jobs/import", {**IMPORT, "everySeconds": 1800})
    batch = [{**IMPORT, "jobId": "load"}, {"handler": "https://shop.example/check", "dependsOn": ["load"]}]
    send("POST", "/v1/jobs:batch", {"jobs": batch})
    send("GET", "/v1/jobs")
    send("PATCH", path, {"cronExpression": "30 2 * * *"})
    send("POST", f"{path}/skip-next")
    send("POST", f"{path}/pause")
    send("POST", f"{path}/resume")
    send("GET", f"{path}/revisions")
    send("POST", f"{path}/revisions/1:restore", {})
    send("GET", "/v1/changes")
    send("POST", f"{path}/trigger", {"payload": {"report": "tax"}})
    collecting = {"handler": "https://shop.example/index", "everySeconds": 86_400, "debounceSeconds": 60}
    send("PUT", "/v1/jobs/index", collecting)
    send("POST", "/v1/jobs/index/trigger")
    send("POST", "/v1/jobs/index/trigger")
    send("GET", path)
    send("GET", f"{path}/cost")
    send("DELETE", "/v1/jobs/index")
    send("PUT", "/v1/limits/warehouse", {"limit": 2})
    send("PUT", "/v1/limits/warehouse", {"limit": 5})
    send("GET", "/v1/limits/warehouse")


def _schedules(recorder: Recorder) -> None:
    recorder.send("POST", "/v1/schedules:preview", {"cronExpression": "0 2 * * *", "timezone": "Europe/Berlin"})
    recorder.send("POST", "/v1/targets:test", {"target": REPORT["target"], "payload": REPORT["payload"]})
    recorder.send(
        "PUT",
        "/v1/jobs/on-order",
        {"handler": "https://shop.example/invoice", "event": {"source": [ORDERED["source"]]}},
    )
    recorder.send("POST", "/v1/events", ORDERED)
    recorder.send("POST", "/v1/events", [ORDERED, {**ORDERED, "id": "order-2"}])


def _graphs(recorder: Recorder) -> None:
    api, send = recorder.api, recorder.send
    send("PUT", "/v1/jobs/extract", IMPORT)
    send("PUT", "/v1/jobs/load", {"handler": "https://shop.example/load", "dependsOn": ["extract"]})
    send("GET", "/v1/jobs/extract/graph")
    run = dead(api, {"jobId": "extract"})
    api.dispatch()
    at = send("GET", f"/v1/runs/{run.id}")["fireTime"]
    send("GET", f"/v1/cycles/extract/{at}")
    send("POST", f"/v1/cycles/extract/{at}:rerun", {"mode": "failed"})
    whole = send("POST", "/v1/jobs/extract/trigger", {"downstream": True})["cycleId"]
    send("GET", f"/v1/cycles/load/{whole}")


def _backfills(recorder: Recorder) -> None:
    send = recorder.send
    path = "/v1/jobs/import/backfills"
    week = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-07T00:00:00Z"}
    send("POST", path, {**week, "dryRun": True})
    one = send("POST", path, week)["backfillId"]
    send("GET", path)
    send("GET", f"{path}/{one}")
    send("DELETE", f"{path}/{one}")


def _runs(recorder: Recorder) -> None:
    api, send = recorder.api, recorder.send
    done, failed, cancelled = waiting(api), waiting(api), waiting(api)
    send("POST", f"/v1/runs/{done.id}/heartbeat", {"attempt": 1})
    send("POST", f"/v1/runs/{done.id}/fan-out", {"attempt": 1, "items": [{"shop": "Berlin"}, {"shop": "Kiel"}]})
    send("POST", f"/v1/runs/{done.id}/complete", {"attempt": 1, "result": {"rows": 40}})
    send("POST", f"/v1/runs/{failed.id}/fail", FAILURE)
    send("POST", f"/v1/runs/{cancelled.id}/cancel")
    send("GET", f"/v1/runs/{done.id}")
    send("GET", f"/v1/jobs/{done.id.job.job_id}/runs")
    send("GET", f"/v1/jobs/{failed.id.job.job_id}/executions")


def _dead_letters(recorder: Recorder) -> None:
    api, send = recorder.api, recorder.send
    send("PUT", "/v1/jobs/mailing", {"handler": "https://shop.example/mail", "everySeconds": 3600})
    dead_runs = [dead(api, {"jobId": "mailing"}, seconds) for seconds in (-40, -30, -20, -10)]
    send("GET", "/v1/dead-letters")
    send("GET", "/v1/dead-letters:groups")
    send("GET", "/v1/runs", query={"status": "failed"})
    send("POST", f"/v1/runs/{dead_runs[0].id}/retry", {})
    send("POST", f"/v1/runs/{dead_runs[1].id}/succeed", {"reason": "Sent by hand."})
    send("POST", "/v1/dead-letters:replay", {"runIds": [str(dead_runs[2].id)]})
    send("POST", "/v1/dead-letters:discard", {"filter": {"jobId": "mailing"}})


def _many(recorder: Recorder) -> None:
    send = recorder.send
    one = send("POST", "/v1/operations", {"action": "pause", "match": {"tags": {"team": "sales"}}})["operationId"]
    send("GET", "/v1/operations")
    send("GET", f"/v1/operations/{one}")
    send("DELETE", f"/v1/operations/{one}")
    send("GET", "/v1/upcoming")
    send("POST", "/v1/freezes:preview", {"match": {"all": True}, "to": "2026-11-23T00:00:00Z"})
    send("GET", "/v1/stats")
    send("GET", "/v1/now")
    send("GET", "/v1/slo")
    send("GET", "/")
    recorder.api.tick()
    send("GET", "/healthz")


def _sessions(recorder: Recorder) -> None:
    send, api = recorder.send, recorder.api
    key = api.call("POST", "/v1/admin/keys", {"role": "operator", "name": "Ada's key"}).body["keyId"]
    code = send("POST", "/v1/sessions/codes", key=key)["code"]
    session = api.call("POST", "/v1/sessions", {"code": code}, tenant=None).body["sessionId"]
    send("POST", "/v1/sessions", {"allowChangesForSeconds": 1800}, key=key, role="viewer", session=session)
    send("GET", "/v1/me", key=key, role="viewer", session=session)
    send("DELETE", "/v1/sessions/current", key=key, role="viewer", session=session)


def _admin(recorder: Recorder) -> None:
    send = recorder.send
    defaults = {"timezone": "Europe/Berlin", "notify": {"onFailure": "https://example.com/alarm"}}
    send("POST", "/v1/admin/tenants", {"name": "initech", "weight": 2, "defaults": defaults})
    send("GET", "/v1/admin/tenants")
    send("GET", "/v1/admin/health")
    send("GET", "/v1/admin/tenants/initech")
    send("PATCH", "/v1/admin/tenants/initech", {"disabled": True})
    send("DELETE", "/v1/admin/tenants/initech")
    path = send("POST", "/v1/admin/operations", {"action": "recover", "since": "2026-11-21T09:15:00Z"})["operationId"]
    send("GET", f"/v1/admin/operations/{path}")
    send("POST", "/v1/admin/signing-secret/rotate")
    for path in KEYS:
        key = send("POST", path, SUBMITTER)["keyId"]
        send("GET", path)
        send("GET", f"{path}/{key}")
        send("PATCH", f"{path}/{key}", {"expiresAt": "2027-06-30T00:00:00Z"})
        new = send("POST", f"{path}/{key}/rotate", {})["keyId"]
        send("DELETE", f"{path}/{new}")


if __name__ == "__main__":
    EXAMPLES.write_text(as_text(), encoding="utf-8")
