"""The client of the API, for programs: sync and async, typed.

A name is imported when it is used, so that a program pays for its half of the client alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timeball.client.aio.callbacks import AsyncWebhookCall, async_verify
    from timeball.client.aio.handles import AsyncBackfillHandle, AsyncOperationHandle, AsyncRunHandle
    from timeball.client.aio.pages import AsyncPages
    from timeball.client.aio.timeball import AsyncTimeball
    from timeball.client.clocks import AsyncClock, Clock
    from timeball.client.errors import (
        ApiError,
        BadField,
        ConfigurationError,
        Conflict,
        Invalid,
        NotAllowed,
        NotFound,
        NotVerified,
        Quota,
        RunFailed,
        Stale,
        TimeballError,
        Unavailable,
    )
    from timeball.client.sync.callbacks import WebhookCall, verify
    from timeball.client.sync.handles import BackfillHandle, OperationHandle, RunHandle
    from timeball.client.sync.pages import Pages
    from timeball.client.sync.timeball import Timeball
    from timeball.client.values.encoding import UNSET
    from timeball.client.values.job import Job, Task
    from timeball.client.values.policies import (
        CatchUp,
        ConcurrencyLimit,
        Notify,
        OnCalendar,
        Parent,
        RateLimit,
        Retries,
    )
    from timeball.client.values.schedules import After, At, Cron, Every, OnEvent, Schedule
    from timeball.client.values.targets import Ecs, EventBridge, Http, Lambda, Slack, Sns, Sqs, StepFunctions, Target

_HOMES = {
    "aio.callbacks": (
        "AsyncWebhookCall",
        "async_verify",
    ),
    "aio.handles": (
        "AsyncBackfillHandle",
        "AsyncOperationHandle",
        "AsyncRunHandle",
    ),
    "aio.pages": ("AsyncPages",),
    "aio.timeball": ("AsyncTimeball",),
    "clocks": (
        "AsyncClock",
        "Clock",
    ),
    "errors": (
        "ApiError",
        "BadField",
        "ConfigurationError",
        "Conflict",
        "Invalid",
        "NotAllowed",
        "NotFound",
        "NotVerified",
        "Quota",
        "RunFailed",
        "Stale",
        "TimeballError",
        "Unavailable",
    ),
    "sync.callbacks": (
        "WebhookCall",
        "verify",
    ),
    "sync.handles": (
        "BackfillHandle",
        "OperationHandle",
        "RunHandle",
    ),
    "sync.pages": ("Pages",),
    "sync.timeball": ("Timeball",),
    "values.encoding": ("UNSET",),
    "values.job": (
        "Job",
        "Task",
    ),
    "values.policies": (
        "CatchUp",
        "ConcurrencyLimit",
        "Notify",
        "OnCalendar",
        "Parent",
        "RateLimit",
        "Retries",
    ),
    "values.schedules": (
        "After",
        "At",
        "Cron",
        "Every",
        "OnEvent",
        "Schedule",
    ),
    "values.targets": (
        "Ecs",
        "EventBridge",
        "Http",
        "Lambda",
        "Slack",
        "Sns",
        "Sqs",
        "StepFunctions",
        "Target",
    ),
}
"""The names of each module."""

__all__ = [
    "UNSET",
    "After",
    "ApiError",
    "AsyncBackfillHandle",
    "AsyncClock",
    "AsyncOperationHandle",
    "AsyncPages",
    "AsyncRunHandle",
    "AsyncTimeball",
    "AsyncWebhookCall",
    "At",
    "BackfillHandle",
    "BadField",
    "CatchUp",
    "Clock",
    "ConcurrencyLimit",
    "ConfigurationError",
    "Conflict",
    "Cron",
    "Ecs",
    "EventBridge",
    "Every",
    "Http",
    "Invalid",
    "Job",
    "Lambda",
    "NotAllowed",
    "NotFound",
    "NotVerified",
    "Notify",
    "OnCalendar",
    "OnEvent",
    "OperationHandle",
    "Pages",
    "Parent",
    "Quota",
    "RateLimit",
    "Retries",
    "RunFailed",
    "RunHandle",
    "Schedule",
    "Slack",
    "Sns",
    "Sqs",
    "Stale",
    "StepFunctions",
    "Target",
    "Task",
    "Timeball",
    "TimeballError",
    "Unavailable",
    "WebhookCall",
    "async_verify",
    "verify",
]


if not TYPE_CHECKING:  # otherwise a type checker would believe in any name

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
