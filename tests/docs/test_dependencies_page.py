"""The diamond of docs/concepts/dependencies.md runs as the page says."""

import json
import re
from typing import Any

from tests.api.client import Api
from tests.docs.readme import ROOT, read
from tests.engine.play import Play
from tests.engine.service import Service
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.time.instants import SECOND_MS, parse_instant
from timeball.engine.context import Rules

PAGE = read(ROOT / "docs/concepts/dependencies.md")


def example(name: str) -> Any:
    (block,) = re.findall(rf"^<!-- {name} -->\n```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return json.loads(block)


def test_the_diamond_runs_in_its_order_at_six() -> None:
    body: dict[str, Any] = example("diamond")
    six = parse_instant(body["jobs"][0]["scheduleAt"])
    play = Play(at=six - 60 * SECOND_MS, rules=Rules())
    api = Api(play.store, play.clock)  # type: ignore[arg-type]
    items = api.call("POST", "/v1/jobs:batch", body).body["items"]
    assert [item["status"] for item in items] == [201] * 4
    names = {item["job"]["jobId"]: asked["ref"] for item, asked in zip(items, body["jobs"], strict=True)}
    with Service(play) as service:
        service.until(six + 10 * SECOND_MS)
        called = [names[call.run.job.job_id] for _, call in service.target.calls]
    assert (called[0], set(called[1:3]), called[3:]) == ("extract", {"clean", "count"}, ["report"])
    runs = {name: play.runs(JobKey("acme", job_id))[0] for job_id, name in names.items()}
    assert {run.id.fire_at for run in runs.values()} == {six}
    assert {run.shown_origin for name, run in runs.items() if name != "extract"} == {Origin.DEPENDENCY}


def test_the_report_runs_at_six_by_the_latest_import() -> None:
    body: dict[str, Any] = example("latest")
    six = parse_instant("2026-11-22T06:00:00Z")
    play = Play(at=six - 900 * SECOND_MS, rules=Rules())
    api = Api(play.store, play.clock)  # type: ignore[arg-type]
    items = api.call("POST", "/v1/jobs:batch", body).body["items"]
    assert [item["status"] for item in items] == [201] * 2
    importing, report = (JobKey("acme", item["job"]["jobId"]) for item in items)
    with Service(play) as service:
        service.until(six + 10 * SECOND_MS)
        called = [call.run.job for _, call in service.target.calls]
    assert called == [importing, report]
    assert play.runs(report)[0].id.fire_at == six
