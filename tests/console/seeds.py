"""Tenants to open the console on: one with nothing, a shop at work, one of hostile names, one with very much.

A seed makes its resources over the API and lets the engine work; it leaves the clock at most `PLAYED_SECONDS` later.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import quote

from tests.console.world import World
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.instants import HOUR_MS, SECOND_MS, format_instant

SHOP = "https://shop.example"
PLAYED_SECONDS = 2 * 3600 + 15
MANY = 10_000
_BATCH = 100

HOSTILE = (
    "<img src=x onerror=\"document.title='broken'\">",
    '"><script>document.title="broken"</script>',
    "\u202egnp.exe\u202c right to left",
    "a" * 200,
    "${7*7} {{7*7}} %s %00 ../../etc/passwd",
    "javascript:document.title='broken'",
    "\u0645\u0631\u062d\u0628\u0627 \U0001f600 e\u0301 \u200b\u200d zero width",
    "'; DROP TABLE jobs; --",
)
"""Names that must stay text wherever they are shown."""


def empty(world: World) -> None:
    """Make nothing."""
    del world


def demo(world: World) -> None:
    """Make a shop with jobs of each kind, and let them run for two hours."""
    for name, fields in _DEMO_JOBS.items():
        world.send("PUT", f"/v1/jobs/{name}", fields)
    for name, fields in _PIPELINE.items():
        world.send("PUT", f"/v1/jobs/{name}", fields)
    world.send("PUT", "/v1/calendars/holidays-de", {"timezone": "Europe/Berlin", "dates": ["2026-12-25", "2026-12-26"]})
    world.send("PUT", "/v1/tasks/send-mail", {"handler": f"{SHOP}/mail", "maxRetries": 2})
    world.send("PUT", "/v1/limits/warehouse", {"limit": 2})
    world.send("POST", "/v1/jobs/old-export/pause")
    world.send("PUT", "/v1/jobs/nightly-report", {**_DEMO_JOBS["nightly-report"], "cronExpression": "15 2 * * *"})
    world.advance(PLAYED_SECONDS - 1800)
    for name in ("welcome-mail", "thank-you-mail"):
        world.send("PUT", f"/v1/jobs/{name}", {"taskId": "send-mail", "delaySeconds": 60, "tags": {"team": "web"}})
    soon, later = (format_instant(world.clock.now() + hours * HOUR_MS) for hours in (1, 5))
    frozen = {"from": soon, "to": later, "match": {"tags": {"team": "finance"}}, "reason": "Closing of the books"}
    world.send("POST", "/v1/freezes", frozen)
    world.send("POST", "/v1/jobs/import-orders/trigger", {"payload": {"order": 4711}})
    world.advance(1800)


def hostile(world: World) -> None:
    """Make jobs whose names, tags, payloads, answers and errors try to be more than text."""
    for number, name in enumerate(HOSTILE):
        world.send(
            "PUT",
            f"/v1/jobs/hostile-{number}",
            {
                "name": name,
                "owner": name,
                "handler": f"{SHOP}/say/{quote(name, safe='')}",
                "payload": {"text": name, "deep": [{"escape": "\u001b[31m", "name": name}]},
                "tags": {"kind": name, "team": "hostile"},
                "everySeconds": 600,
                "maxRetries": 0,
            },
        )
        reports = {"handler": f"{SHOP}/accept", "completion": "callback", "delaySeconds": 1, "maxRetries": 0}
        world.send("PUT", f"/v1/jobs/report-{number}", reports)
    freeze = {
        "from": format_instant(world.clock.now() + 2 * HOUR_MS),
        "to": format_instant(world.clock.now() + 3 * HOUR_MS),
        "match": {"tags": {"team": "hostile"}},
        "reason": HOSTILE[0],
    }
    world.send("POST", "/v1/freezes", freeze)
    world.advance(60)
    for number, error in enumerate(HOSTILE):
        run = world.send("GET", f"/v1/jobs/report-{number}")["latestRun"]
        world.send("POST", f"/v1/runs/{run['runId']}/fail", {"attempt": 1, "error": error})
    world.advance(3540)


def large(world: World) -> None:
    """Make ten thousand jobs, and ten thousand runs of one of them, a tenth of them failed."""
    for start in range(0, MANY, _BATCH):
        world.send("POST", "/v1/jobs:batch", {"jobs": [*islice(_many(start), _BATCH)]})
    world.send("PUT", "/v1/jobs/busy", {"handler": f"{SHOP}/busy", "everySeconds": 3600, "tags": {"team": "busy"}})
    for number in range(MANY):
        run = _past_run(world, "busy", number)
        world.store.runs[run.id] = run
    world.advance(20)


def _many(start: int) -> Iterator[dict[str, Any]]:
    number = start
    while True:
        fields = {"cronExpression": f"{number % 60} {(number // 60) % 24} * * *", "timezone": "Europe/Berlin"}
        team = ("sales", "web", "finance", "warehouse")[number % 4]
        yield {"jobId": f"job-{number:05}", "handler": f"{SHOP}/{number}", "tags": {"team": team}, **fields}
        number += 1


def _past_run(world: World, job_id: str, number: int) -> Run:
    """Return a run that ended so many times 12 s ago; each tenth failed for good."""
    ended_at = world.clock.now() - (number + 1) * 12 * SECOND_MS
    fire_at = ended_at - 2 * SECOND_MS
    has_failed = number % 10 == 0
    key = JobKey("acme", job_id)
    run = Run(RunId(key, fire_at, Origin.SCHEDULE), RunState.SUCCEEDED, 1, "normal", 0, fire_at, fire_at)
    ends = replace(run, attempt=1, finished_at=ended_at, first_started_at=fire_at)
    if not has_failed:
        return replace(ends, last=Attempt(1, Outcome.SUCCEEDED, fire_at, fire_at, ended_at, 200, None))
    error = f"The target answered with status {503 if number % 20 else 500}."
    last = Attempt(1, Outcome.FAILED, fire_at, fire_at, ended_at, 503, error)
    return replace(ends, state=RunState.FAILED, reason=Reason.RETRIES_EXHAUSTED, last=last)


_FINANCE, _SALES, _WEB, _DATA = ({"team": team} for team in ("finance", "sales", "web", "data"))

_DEMO_JOBS: dict[str, dict[str, Any]] = {
    "nightly-report": {
        "name": "Nightly report",
        "handler": f"{SHOP}/report",
        "payload": {"report": "sales"},
        "cronExpression": "0 2 * * *",
        "timezone": "Europe/Berlin",
        "tags": _SALES,
    },
    "opening-bell": {
        "name": "Prices at the opening bell",
        "handler": f"{SHOP}/prices",
        "cronExpression": "30 9 * * MON-FRI",
        "timezone": "America/New_York",
        "tags": _FINANCE,
    },
    "import-orders": {"name": "Import orders", "handler": f"{SHOP}/slow/20", "everySeconds": 300, "tags": _SALES},
    "sync-stock": {
        "name": "Sync the stock",
        "handler": "https://stock.example/flaky",
        "everySeconds": 600,
        "tags": _SALES,
    },
    "send-invoices": {
        "name": "Send invoices",
        "handler": "https://books.example/fail/503",
        "cronExpression": "*/30 * * * *",
        "timezone": "Europe/Berlin",
        "maxRetries": 1,
        "tags": _FINANCE,
    },
    "bank-statement": {
        "name": "Fetch the bank statement",
        "handler": "https://bank.example/fail/401",
        "everySeconds": 3600,
        "maxRetries": 0,
        "tags": _FINANCE,
    },
    "encode-videos": {
        "name": "Encode videos",
        "handler": f"{SHOP}/slow/780",
        "timeoutSeconds": 840,
        "everySeconds": 1200,
        "overlapPolicy": "skip",
        "tags": _WEB,
    },
    "warehouse-count": {
        "name": "Count the warehouse",
        "handler": f"{SHOP}/accept",
        "everySeconds": 7200,
        "completion": "callback",
        "heartbeatSeconds": 3600,
        "timeoutSeconds": 86_400,
        "tags": _DATA,
    },
    "old-export": {"name": "Export for the old shop", "handler": f"{SHOP}/export", "everySeconds": 60, "tags": _WEB},
    "cleanup": {"name": "Delete old carts", "handler": f"{SHOP}/carts", "everySeconds": 900, "tags": _WEB},
}

_PIPELINE: Mapping[str, dict[str, Any]] = {
    "extract": {"name": "Extract", "handler": f"{SHOP}/slow/30", "everySeconds": 1800, "tags": _DATA},
    "transform": {"name": "Transform", "handler": f"{SHOP}/slow/45", "dependsOn": ["extract"], "tags": _DATA},
    "check": {
        "name": "Check the totals",
        "handler": "https://check.example/fail/422",
        "dependsOn": ["extract"],
        "maxRetries": 0,
        "tags": _DATA,
    },
    "load": {"name": "Load", "handler": f"{SHOP}/load", "dependsOn": ["transform"], "tags": _DATA},
    "publish": {"name": "Publish", "handler": f"{SHOP}/publish", "dependsOn": ["load", "check"], "tags": _DATA},
}

SEEDS: Mapping[str, Callable[[World], None]] = {"empty": empty, "demo": demo, "hostile": hostile, "large": large}
"""Each seed by its name."""
