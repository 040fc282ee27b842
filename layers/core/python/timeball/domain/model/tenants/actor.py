"""Who asks for what: the actor of a user's request, what it is called, and what it is about."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What a user did. To a job: all before a trigger make a new version of it."""

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


class Kind(StrEnum):
    """What a request may be about."""

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
    FLOW_KEY = "flowKey"
    SIGNING = "signingSecret"


@dataclass(frozen=True)
class Resource:
    """What a request is about.

    `id` is empty for the dead letters that a filter names, and for the signing secret; `job_id` for what has no job.
    """

    kind: Kind
    id: str
    job_id: str = ""


@dataclass(frozen=True)
class Actor:
    """Who asks: the id of their API key, its role, and the address that the request came from. All None: no user.

    `operation` names the bulk operation by which they do it, if it is one.
    """

    key_id: str | None = None
    role: str | None = None
    address: str | None = None
    operation: str | None = None


NOBODY = Actor()
"""What Timeball does by itself has no user behind it."""
