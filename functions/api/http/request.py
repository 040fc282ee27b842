"""One request as the operations see it, and the headers that steer it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from functions.api.http.body import read_object, read_objects
from functions.api.http.problems import FieldError, Problem, ProblemError, invalid, shortened
from functions.api.http.reply import etag
from timeball.domain.model.tenants.actor import NOBODY, Actor
from timeball.domain.model.tenants.quotas import NO_QUOTAS, Quotas

ANY_VERSION: Final = None
NO_VERSION: Final = 0
"""What no resource ever has: the version of an ETag that Timeball did not give."""

JSON: Final = ("application/json",)
EVENTS: Final = ("application/json", "application/cloudevents+json", "application/cloudevents-batch+json")
MERGE_PATCH: Final = ("application/merge-patch+json", "application/json")

_IDEMPOTENCY_KEY: Final = re.compile(r"[!-~]{1,255}", re.ASCII)
_ETAG: Final = re.compile(r'(?:W/)?"[!#-~]*"', re.ASCII)
_OWN_ETAG: Final = re.compile(r'"([1-9][0-9]{0,17})"', re.ASCII)


@dataclass(frozen=True)
class Request:
    """A request of a tenant, by an actor. Names of headers are in lower case; `path` holds the path's ids by name.

    `query` has what is given several times under one name with commas between, as the gateway joins it.
    `bounds` are the tags of the caller's key: it sees and makes only jobs that have all of them. `attempt` is that of
    the token by which the caller is known, if it is no key. `quotas` are the tenant's own; None: not told.
    """

    tenant: str
    by: Actor = NOBODY
    headers: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    raw_query: str = ""
    body: bytes = b""
    bounds: Mapping[str, str] = field(default_factory=dict)
    attempt: int | None = None
    quotas: Quotas | None = NO_QUOTAS

    def each(self, name: str) -> list[str]:
        """Return each value of a parameter that may be given several times; a value may have commas of its own."""
        given = [text for one, text in parse_qsl(self.raw_query, keep_blank_values=True) if one == name]
        return given or ([self.query[name]] if name in self.query else [])


def expected_version(request: Request) -> int | None:
    """Return the version that If-Match asks for: ANY_VERSION for none or `*`, NO_VERSION for a foreign ETag.

    Raises ProblemError for what is no single ETag.
    """
    header = request.headers.get("if-match")
    if header is None or header.strip() == "*":
        return ANY_VERSION
    if not _ETAG.fullmatch(header.strip()):
        raise invalid([FieldError("If-Match", 'Give the ETag of one answer, such as "3" with its quotes, or *.')])
    own = _OWN_ETAG.fullmatch(header.strip())
    return int(own[1]) if own else NO_VERSION


def expects_nothing(request: Request) -> bool:
    """Say whether If-None-Match asks that the resource is not there yet. Raises ProblemError for all but `*`."""
    header = request.headers.get("if-none-match")
    if header is not None and header.strip() != "*":
        raise invalid([FieldError("If-None-Match", "Give *, which means: only if it is not there yet.")])
    return header is not None


def stale(what: str, version: int, verb: str) -> ProblemError:
    """Return the problem of an If-Match that names another version than a resource has."""
    return ProblemError(
        Problem.STALE_VERSION,
        f"The {what} is at version {version} by now; read it again before you {verb} it.",
        headers={"ETag": etag(version)},
    )


def idempotency_key(request: Request, errors: list[FieldError]) -> str | None:
    """Return the key, or None if there is no good one; what is wrong with it is added to the errors."""
    key = request.headers.get("idempotency-key")
    if key is None or _IDEMPOTENCY_KEY.fullmatch(key):
        return key
    errors.append(FieldError("Idempotency-Key", "Give 1 to 255 visible ASCII characters, such as a UUID."))
    return None


def key_conflict() -> ProblemError:
    """Return the problem of an Idempotency-Key that comes with another body than it did before."""
    return ProblemError(
        Problem.IDEMPOTENCY_CONFLICT,
        "This Idempotency-Key was used with another body; send that body again, or take a new key.",
    )


def read_body(request: Request, accepted: Sequence[str] = JSON) -> dict[str, Any]:
    """Return the JSON object that was sent, as a type that is accepted. Raises ProblemError."""
    _check_content_type(request, accepted)
    return read_object(request.body)


def read_one_or_many(request: Request, accepted: Sequence[str], most: int) -> dict[str, Any] | list[Any]:
    """Return the JSON object that was sent, or the array of as many values as may be. Raises ProblemError."""
    _check_content_type(request, accepted)
    return read_objects(request.body, most)


def read_optional_body(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent, an empty one if nothing was. Raises ProblemError."""
    return read_body(request) if request.body.strip() else {}


def refuse_fields(request: Request) -> None:
    """Raise ProblemError unless nothing is sent, or an empty object."""
    body = read_optional_body(request)
    if body:
        raise invalid(FieldError(shortened(name), "This request takes no fields; leave it out.") for name in body)


def _check_content_type(request: Request, accepted: Sequence[str]) -> None:
    """Raise ProblemError unless the body is said to be of an accepted type, in UTF-8, or nothing is said."""
    header = request.headers.get("content-type", "application/json")
    media_type, *parameters = (part.strip().lower() for part in header.split(";"))
    charsets = {part.partition("=")[2].strip('" ') for part in parameters if part.startswith("charset=")}
    if media_type not in accepted or charsets - {"utf-8", "utf8"}:
        headers = {"Accept-Patch": ", ".join(accepted)} if accepted is MERGE_PATCH else {}
        raise ProblemError(
            Problem.UNSUPPORTED_MEDIA_TYPE, f"Send the body as {' or '.join(accepted)}, in UTF-8.", headers=headers
        )
