"""The actor of a user's request, the action that it asks for, and the resource that it is about.

A caller may sign its requests by AWS's rules instead of sending an API key: a setting maps such callers to a tenant and
a role. An entry is `123456789012/role/billing=acme:submitter`; commas separate entries. No caller can have the role
admin: only a caller that holds an API key makes API keys.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.model.tenants.key import Role
from timeball.domain.model.tenants.tenant import TENANT_NAME


class Action(StrEnum):
    """A user's action. Every action on a job that is listed before a trigger makes a new version of the job."""

    CREATE = "create"
    PUT = "put"
    PATCH = "patch"
    RESTORE = "restore"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DETACH = "detach"
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

_NAME: Final = r"[A-Za-z0-9_+.@-]{1,64}"
_ENTRY: Final = re.compile(rf"(\d{{12}}/(?:role|user)/{_NAME})=({TENANT_NAME.pattern}):([a-z]+)", re.ASCII)
_ASSUMED: Final = re.compile(rf"arn:[a-z-]+:sts::(\d{{12}}):assumed-role/({_NAME})/[^/]+", re.ASCII)
_USER: Final = re.compile(rf"arn:[a-z-]+:iam::(\d{{12}}):user/(?:[!-~]+/)?({_NAME})", re.ASCII)


@dataclass(frozen=True)
class IamCaller:
    """The identity that a caller is mapped to."""

    tenant: str
    """The tenant."""
    role: Role
    """The role within the tenant."""


def parse_callers(text: str) -> Mapping[str, IamCaller]:
    """Return the callers that a setting maps, by their principals. Raises ValueError with the end of a sentence."""
    callers: dict[str, IamCaller] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = _ENTRY.fullmatch(entry)
        roles = [role.value for role in Role if role is not Role.ADMIN]
        if match is None or match[3] not in roles:
            raise ValueError(
                "must be entries such as 123456789012/role/billing=acme:submitter, separated by commas, each with one "
                f"of the roles {', '.join(roles)}"
            )
        if match[1] in callers:
            raise ValueError(f"must name {match[1]} once")
        callers[match[1]] = IamCaller(match[2], Role(match[3]))
    return callers


def principal_of(user_arn: str) -> str | None:
    """Return the principal of an ARN, as settings write it; None if the ARN is of no role and no user.

    `user_arn` is what API Gateway reports of the caller.
    """
    for kind, pattern in (("role", _ASSUMED), ("user", _USER)):
        match = pattern.fullmatch(user_arn)
        if match is not None:
            return f"{match[1]}/{kind}/{match[2]}"
    return None
