"""The actor of a user's request, the action that it asks for, and the resource that it is about."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """A user's action. Every action on a job that is listed before a trigger makes a new version of the job."""

    CREATE = "create"
    PUT = "put"
    PATCH = "patch"
    RESTORE = "restore"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    SKIP_NEXT = "skip_next"
    RERUN = "rerun"
    TRIGGER = "trigger"
    COLLECT = "collect"
    RETRY = "retry"
    SUCCEED = "succeed"
    DELETE = "delete"
    ROTATE = "rotate"
    REVOKE = "revoke"
    REPLAY = "replay"
    DISCARD = "discard"


class ResourceKind(StrEnum):
    """The kinds of resources that a request may be about."""

    JOB = "job"
    RUN = "run"
    BACKFILL = "backfill"
    TASK = "task"
    CALENDAR = "calendar"
    FREEZE = "freeze"
    OPERATION = "operation"
    DEAD_LETTERS = "deadLetters"
    TENANT = "tenant"
    KEY = "key"
    LIMIT = "limit"
    SIGNING = "signingSecret"


@dataclass(frozen=True)
class Resource:
    """The resource that a request is about."""

    kind: ResourceKind
    """Its kind."""
    id: str
    """Its id; empty for the dead letters that a filter selects, and for the signing secret."""
    job_id: str = ""
    """The job that it belongs to; empty: none."""


@dataclass(frozen=True)
class Actor:
    """The caller of a request. Every field is None if no user asked."""

    key_id: str | None = None
    """The id of the API key, or `iam/` and an AWS principal; None: no user."""
    role: str | None = None
    """The role of the key; None: no user."""
    address: str | None = None
    """The address that the request came from; None: no user."""
    operation: str | None = None
    """The bulk operation by which the caller acts; None: it acts directly."""


NO_ACTOR = Actor()
"""The actor of everything that Timeball does by itself."""
