"""The errors of the client, as types: a program catches the one that it can do something about.

No message holds a key, a payload or a header.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timeball.client.models import RunAnswer, RunDetailAnswer


class TimeballError(Exception):
    """Anything that the client raises, besides ValueError for wrong arguments and TimeoutError of waits."""


class ConfigurationError(TimeballError):
    """The client does not know which API to call, or with which key."""


@dataclass(frozen=True)
class BadField:
    """A field that the API refused."""

    field: str
    """Its path, such as `target.headers.Host`."""
    message: str
    """How to correct it."""


class ApiError(TimeballError):
    """The API refused a request; the message is its sentence."""

    def __init__(
        self,
        status: int,
        problem: Mapping[str, Any],
        *,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        """The HTTP status."""
        self.type = str(problem.get("type") or "about:blank").removeprefix("urn:timeball:problem:")
        """The kind of problem, such as `stale-version`: for programs, and never renamed."""
        self.title = str(problem.get("title") or f"HTTP {status}")
        """The kind of problem, for people."""
        self.detail = str(problem.get("detail") or problem.get("message") or f"The API answered with status {status}.")
        """One sentence that says what to do."""
        self.errors = tuple(_bad_fields(problem.get("errors")))
        """Each bad field of the request."""
        self.quota = problem.get("quota")
        """The name of the quota that is used up, or None."""
        self.children: Sequence[str] = tuple(problem.get("children") or ())
        """The ids of the open jobs that depend on the job of the request, where that is the problem."""
        self.request_id = request_id or problem.get("instance")
        """The id of the request, for the logs of the deployment."""
        self.retry_after = retry_after
        """After how many seconds the request may succeed, or None if the API did not say."""
        super().__init__(self.detail)

    def __str__(self) -> str:
        fields = "".join(f"\n  {bad.field}: {bad.message}" for bad in self.errors)
        return f"{self.detail}{fields}"


class Invalid(ApiError):  # noqa: N818 - the name of the case, as all of these
    """Some fields of the request cannot be accepted; `errors` names each."""


class NotAllowed(ApiError):  # noqa: N818
    """The API key is not valid, or its role and tags do not allow the request."""


class NotFound(ApiError):  # noqa: N818
    """There is no such resource for this key."""


class Conflict(ApiError):  # noqa: N818
    """The resource is in a state in which the request makes no sense."""


class Stale(ApiError):  # noqa: N818
    """The resource has another version than the one that the request names."""


class Quota(ApiError):  # noqa: N818
    """Too much was asked for; nothing was done."""


class Unavailable(ApiError):  # noqa: N818
    """The API did not answer, or not in time: it is unknown whether the request took effect."""


class RunFailed(TimeballError):  # noqa: N818
    """A run that was waited for has ended without success; `run` is its row."""

    def __init__(self, run: "RunAnswer | RunDetailAnswer") -> None:
        self.run = run
        super().__init__(f"The run {run.run_id} is {run.status}. {run.reason_text or ''}".rstrip())


class NotVerified(TimeballError):  # noqa: N818
    """A request that should be Timeball's call has no valid signature, or is too old."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: Invalid,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    412: Stale,
    413: Invalid,
    415: Invalid,
    422: Conflict,
    429: Quota,
}


def error_of(
    status: int, problem: Mapping[str, Any], *, request_id: str | None = None, retry_after: float | None = None
) -> ApiError:
    """Return the error for an answer of the API that is not a success."""
    kind = Unavailable if status >= 500 else _BY_STATUS.get(status, ApiError)
    return kind(status, problem, request_id=request_id, retry_after=retry_after)


def _bad_fields(errors: object) -> list[BadField]:
    found = errors if isinstance(errors, list) else []
    return [
        BadField(str(one.get("field", "")), str(one.get("message", ""))) for one in found if isinstance(one, Mapping)
    ]
