"""A request for each route: its path and its body."""

import re
from typing import Any

from pydantic import BaseModel

from timeball.api.admin.operations import AdminOperationRequest
from timeball.api.admin.request import KeyRequest, RotateRequest, TenantRequest
from timeball.api.admin.sessions import SessionRequest
from timeball.api.backfills.request import BackfillRequest
from timeball.api.calendars.request import CalendarBody, CalendarRequest
from timeball.api.cycles import RerunRequest
from timeball.api.dead_letters.request import DiscardRequest, ReplayRequest
from timeball.api.events.request import EventsRequest
from timeball.api.freezes import FreezeRequest
from timeball.api.http.route import Route
from timeball.api.jobs.batches import BatchRequest
from timeball.api.jobs.request import JobRequest
from timeball.api.jobs.triggering import TriggerRequest
from timeball.api.limits import LimitBody
from timeball.api.operations.request import OperationRequest
from timeball.api.routes import ROUTES
from timeball.api.runs.callbacks import CompleteRequest, FailRequest, FanOutRequest, HeartbeatRequest
from timeball.api.runs.manual import RetryRequest, SucceedRequest
from timeball.api.targets.trying import TrialRequest
from timeball.api.tasks.models import TaskRequest

IDS = {
    "cycleId": "2026-11-21T09:30:00Z",
    "jobId": "job_1",
    "runId": "job_1.5.s",
    "tenant": "acme",
    "keyId": "acme.0123456789ab",
}
"""Ids in paths that have a format of their own; for any other name the path has `1`."""


def path_of(route: Route) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: IDS.get(name[1], "1"), route.path)


def parameters_of(path: str) -> tuple[str, ...]:
    """Return the query parameters of the list at a path."""
    return next(route.query for route in ROUTES if (route.method, route.path) == ("GET", path))


STORED = [route for route in ROUTES if not route.is_public and route.path != "/v1/schedules:preview"]
"""The routes that need the store."""

BODIES: dict[type[BaseModel], dict[str, Any]] = {
    JobRequest: {"handler": "https://example.com"},
    BatchRequest: {"jobs": [{"handler": "https://example.com"}]},
    TaskRequest: {"handler": "https://example.com"},
    OperationRequest: {"action": "pause", "match": {"all": True}},
    TriggerRequest: {"payload": 1},
    BackfillRequest: {"from": "2026-11-21T08:00:00Z", "to": "2026-11-21T09:00:00Z"},
    HeartbeatRequest: {"attempt": 1},
    FanOutRequest: {"attempt": 1, "items": [1]},
    RetryRequest: {"payload": 1},
    RerunRequest: {"mode": "all"},
    CompleteRequest: {"attempt": 1},
    FailRequest: {"attempt": 1},
    ReplayRequest: {"filter": {}},
    DiscardRequest: {"runIds": ["job_1.5.s"]},
    CalendarRequest: {"name": "closed", "timezone": "UTC"},
    CalendarBody: {"timezone": "UTC"},
    LimitBody: {"limit": 1},
    FreezeRequest: {"match": {"all": True}},
    TenantRequest: {"name": "acme"},
    AdminOperationRequest: {"action": "recover", "since": "2026-11-21T09:00:00Z"},
    KeyRequest: {"role": "viewer"},
    SessionRequest: {},
    RotateRequest: {"overlapSeconds": 60},
    SucceedRequest: {},
    EventsRequest: {"source": "shop", "type": "order.placed"},
    TrialRequest: {"handler": "https://example.com"},
}
"""For each route that takes a body and needs the store, a valid body."""
