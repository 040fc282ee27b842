"""Every problem that the API can answer, in one table, rendered as RFC 9457 says, and the model that documents it.

A problem's `type` is for programs and never changes; its `detail` is one sentence that a person can act on.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any

from pydantic import BaseModel, Field

CONTENT_TYPE = "application/problem+json"
MAX_ERRORS = 100
"""The most bad fields of one request that the answer names."""
ENOUGH_ERRORS = MAX_ERRORS + 1
"""With this many bad fields, validation may stop."""

_MAX_NAME = 100


class Problem(Enum):
    """A kind of problem: its slug, its HTTP status, its title."""

    MALFORMED_BODY = ("malformed-body", 400, "The body is not a JSON object")
    INVALID_REQUEST = ("invalid-request", 400, "Some fields are invalid")
    UNAUTHENTICATED = ("unauthenticated", 401, "No valid API key")
    FORBIDDEN = ("forbidden", 403, "This API key may not do that")
    TENANT_DISABLED = ("tenant-disabled", 403, "The tenant is disabled")
    NOT_FOUND = ("not-found", 404, "There is no such resource")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This path does not support the method")
    LOCKS_OUT = ("locks-out", 409, "The change might lock out every admin")
    KEY_REVOKED = ("key-revoked", 409, "The key is revoked")
    TENANT_EXISTS = ("tenant-exists", 409, "A tenant has this name already")
    TENANT_ENABLED = ("tenant-enabled", 409, "The tenant is not disabled")
    NO_SESSION = ("no-session", 409, "The request has an API key, and no session")
    JOB_ENDED = ("job-ended", 409, "The job has ended")
    HAS_CHILDREN = ("has-children", 409, "Other jobs depend on the job")
    JOB_PAUSED = ("job-paused", 409, "The job is paused")
    CALENDAR_EXISTS = ("calendar-exists", 409, "A calendar has this name already")
    CALENDAR_IN_USE = ("calendar-in-use", 409, "A job names the calendar")
    TOO_MANY_FREEZES = ("too-many-freezes", 409, "There are too many freezes")
    TOO_MANY_ITEMS = ("too-many-items", 409, "The run has named too many items")
    TOO_DEEP = ("too-deep", 409, "The calls are nested too deep")
    NO_CYCLES = ("no-cycles", 409, "The job runs once")
    GRAPH_TOO_LARGE = ("graph-too-large", 409, "Too many jobs depend on the job")
    RUN_OVER = ("run-over", 409, "The run is over")
    RUN_UNDER_WAY = ("run-under-way", 409, "The run is under way")
    TASK_IN_USE = ("task-in-use", 409, "Jobs name the task")
    STALE_ATTEMPT = ("stale-attempt", 409, "The attempt is not under way")
    LEASE_EXPIRED = ("lease-expired", 409, "The lease has expired")
    NO_CALLBACK_EXPECTED = ("no-callback-expected", 409, "The run takes no callback")
    STALE_VERSION = ("stale-version", 412, "The resource has another version")
    BODY_TOO_LARGE = ("body-too-large", 413, "The body is too large")
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", 415, "The body has an unsupported type")
    IDEMPOTENCY_CONFLICT = ("idempotency-conflict", 422, "The Idempotency-Key belongs to another request")
    QUOTA_EXCEEDED = ("quota-exceeded", 429, "A quota is used up")
    INTERNAL = ("internal", 500, "Timeball failed")
    UNAVAILABLE = ("unavailable", 503, "Temporarily unavailable")
    UNHEALTHY = ("unhealthy", 503, "Timeball is not healthy")

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug = slug
        self.status = status
        self.title = title

    @property
    def type(self) -> str:
        """Return the URI of this kind of problem, which never changes."""
        return f"urn:timeball:problem:{self.slug}"


@dataclass(frozen=True)
class FieldError:
    """A bad field of a request."""

    field: str
    """The path as the caller wrote it, such as `target.headers.Host`."""
    message: str
    """How to correct the field."""
    quota: str | None = None
    """The name of the quota that the value exceeds, if any."""


class ProblemError(Exception):
    """A request ends with this problem."""

    def __init__(
        self,
        problem: Problem,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        quota: str | None = None,
        children: Sequence[str] = (),
        reason: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = headers or {}
        self.quota = quota
        self.children = tuple(children)
        self.reason = reason


def invalid(errors: Iterable[FieldError]) -> ProblemError:
    """Return the problem that names every bad field, of more than a hundred the first.

    It takes no more than ENOUGH_ERRORS from `errors`.
    """
    found = list(islice(errors, ENOUGH_ERRORS))
    named = found[:MAX_ERRORS]
    subject = "One field needs" if len(found) == 1 else f"{len(found)} fields need"
    shown = ""
    if len(found) > len(named):
        subject, shown = f"More than {MAX_ERRORS} fields need", f", which names the first {MAX_ERRORS}"
    detail, quotas = f"{subject} a change; nothing was done. See `errors`{shown}.", [bad.quota for bad in found]
    return ProblemError(Problem.INVALID_REQUEST, detail, named, quota=next(filter(None, quotas), None))


def refuse(errors: Sequence[FieldError]) -> None:
    """Raise ProblemError that names every bad field, if there is one."""
    if errors:
        raise invalid(errors)


def shortened(name: str) -> str:
    """Return a name that a caller wrote, cut if it is long."""
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}..."


def not_found(detail: str) -> ProblemError:
    """Return the problem for an id or a path that names nothing for this caller."""
    return ProblemError(Problem.NOT_FOUND, detail)


def over_quota(quota: str, detail: str, retry_seconds: int) -> ProblemError:
    """Return the problem for a quota that is used up, by its name, for `retry_seconds` at least."""
    return ProblemError(
        Problem.QUOTA_EXCEEDED, detail, headers={"Retry-After": str(max(1, retry_seconds))}, quota=quota
    )


def problem_body(error: ProblemError, request_id: str) -> str:
    """Render a problem as JSON text; `instance` is the request's id, as in the logs."""
    return json.dumps({**problem_fields(error), "instance": request_id})


def problem_fields(error: ProblemError) -> dict[str, Any]:
    """Return the fields of a problem without `instance`."""
    fields: dict[str, Any] = {
        "type": error.problem.type,
        "title": error.problem.title,
        "status": error.problem.status,
        "detail": error.detail,
    }
    if error.quota:
        fields["quota"] = error.quota
    if error.reason:
        fields["reason"] = error.reason
    if error.children:
        fields["children"] = list(error.children)
    if error.errors:
        fields["errors"] = [{"field": bad.field, "message": bad.message} for bad in error.errors]
    return fields


class FieldProblem(BaseModel):
    """A bad field and how to correct it."""

    field: str = Field(description="The path of the field, such as `target.headers.Host`.")
    message: str = Field(description="One sentence that says how to correct the field.")


class ItemProblem(BaseModel):
    """Why one item of a request was refused."""

    type: str = Field(description="The stable id of the kind of problem: `urn:timeball:problem:...`.")
    title: str = Field(description="The kind of problem, for people.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="One sentence that a person can act on.")
    quota: str | None = Field(default=None, description="The name of the quota that is used up; left out if none is.")
    reason: str | None = Field(
        default=None, description="Why Timeball is not healthy: `ticks_missing` or `store_unavailable`; else left out."
    )
    children: list[str] | None = Field(
        default=None, description="The ids of the open jobs that depend on the job; left out for other problems."
    )
    errors: list[FieldProblem] = Field(
        default_factory=list, description=f"Every bad field; of more than {MAX_ERRORS} the first {MAX_ERRORS}."
    )


class ProblemDetails(ItemProblem):
    """A problem of RFC 9457."""

    instance: str = Field(description="The id of the request, also in `X-Request-Id`.")
