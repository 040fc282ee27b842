"""The client of the API, for programs: sync and async, typed."""

from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.timeball import AsyncTimeball
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
from timeball.client.sync.pages import Pages
from timeball.client.sync.timeball import Timeball

__all__ = [
    "ApiError",
    "AsyncPages",
    "AsyncTimeball",
    "BadField",
    "ConfigurationError",
    "Conflict",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "NotVerified",
    "Pages",
    "Quota",
    "RunFailed",
    "Stale",
    "Timeball",
    "TimeballError",
    "Unavailable",
]
