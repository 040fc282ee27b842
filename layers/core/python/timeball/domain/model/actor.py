"""Who asks for what: the actor of a user's request, and what it is called."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What a user did to a job. All but a trigger make a new version of it."""

    CREATE = "create"
    PUT = "put"
    PATCH = "patch"
    RESTORE = "restore"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    TRIGGER = "trigger"


@dataclass(frozen=True)
class Actor:
    """Who asks: the id of their API key, its role, and the address that the request came from. All None: no user."""

    key_id: str | None = None
    role: str | None = None
    address: str | None = None


NOBODY = Actor()
"""What Timeball does by itself has no user behind it."""
