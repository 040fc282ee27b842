"""Ask for backfills and advance them, for tests."""

from typing import Any

from tests.api.client import Answer, Api
from timeball.domain.model.ids import Origin
from timeball.domain.model.runs.run import Run
from timeball.engine.backfills import advance_backfills

HOURLY = {"cronExpression": "0 * * * *"}
RANGE = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T03:00:00Z"}
IN_RANGE = [f"2026-11-20T0{hour}:00:00.000Z" for hour in range(3)]


def backfill(
    api: Api, job: dict[str, Any], *, key: str | None = None, tenant: str = "acme", **fields: object
) -> Answer:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {**RANGE, **fields}
    return api.call("POST", f"/v1/jobs/{job['jobId']}/backfills", body, headers=headers, tenant=tenant)


def runs_of(api: Api) -> list[Run]:
    return [run for run in api.store.runs.values() if run.id.origin is Origin.BACKFILL]


def scan(api: Api) -> None:
    """Advance every backfill once, as a scan would."""
    due = [one for one in api.store.backfills.values() if one.due_at is not None and one.due_at <= api.clock.now()]
    advance_backfills(api.context, due)
