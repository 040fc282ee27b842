"""Create jobs on events and send events, for tests."""

from collections.abc import Mapping
from typing import Any

from tests.api.client import Answer, Api
from timeball.domain.model.ids import JobKey
from timeball.domain.model.runs.run import Run

PLACED: Mapping[str, Any] = {"source": ["shop"], "detail-type": ["order.placed"]}
ORDER: Mapping[str, Any] = {"source": "shop", "type": "order.placed", "id": "7", "data": {"total": 250}}


def send(api: Api, *, tenant: str = "acme", **event: object) -> Answer:
    """Send an event that matches PLACED, with these changes, and create the runs of the jobs that it matches."""
    answer = api.call("POST", "/v1/events", {**ORDER, **event}, tenant=tenant)
    assert answer.status == 202, answer.text
    api.receive()
    return answer


def runs_of(api: Api, job: Mapping[str, Any], tenant: str = "acme") -> list[Run]:
    """Return the runs of a job, earliest first."""
    own = [run for run in api.store.runs.values() if run.id.job == JobKey(tenant, job["jobId"])]
    return sorted(own, key=lambda run: (run.id.fire_at, run.id.series))
