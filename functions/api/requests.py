"""One request as the operations see it, and the headers that steer it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .problems import FieldError, Problem, ProblemError, invalid

ANY_VERSION: Final = None
NO_VERSION: Final = 0
"""What no resource ever has: the version of an ETag that Timeball did not give."""

_IDEMPOTENCY_KEY: Final = re.compile(r"[!-~]{1,255}", re.ASCII)
_ETAG: Final = re.compile(r'(?:W/)?"[!#-~]*"', re.ASCII)
_OWN_ETAG: Final = re.compile(r'"([1-9][0-9]{0,17})"', re.ASCII)


@dataclass(frozen=True)
class Request:
    """A request of a tenant. Names of headers are in lower case; `path` holds the ids of the path by name."""

    tenant: str
    headers: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """What an operation answers: a status, JSON text, and headers of its own."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


def etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


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


def idempotency_key(request: Request) -> str | FieldError | None:
    """Return the key, what is wrong with it, or None if there is none."""
    header = request.headers.get("idempotency-key")
    if header is None or _IDEMPOTENCY_KEY.fullmatch(header):
        return header
    return FieldError("Idempotency-Key", "Give 1 to 255 visible ASCII characters, such as a UUID.")


def check_content_type(request: Request) -> None:
    """Raise ProblemError unless the body is said to be JSON in UTF-8, or nothing is said."""
    header = request.headers.get("content-type", "application/json")
    media_type, *parameters = (part.strip().lower() for part in header.split(";"))
    charsets = {part.partition("=")[2].strip('" ') for part in parameters if part.startswith("charset=")}
    if media_type != "application/json" or charsets - {"utf-8", "utf8"}:
        raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json, in UTF-8.")
