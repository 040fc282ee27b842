"""What is sent to a webhook: url, method and headers, checked before anything leaves.

Imports no HTTP client, so that a target can be validated when a job is created, by the same rules.
"""

import re

from multidict import CIMultiDict
from yarl import URL

from timeball import __version__
from timeball.domain.model.target import HttpTarget
from timeball.domain.model.work import Work
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.ports.target import Call

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

RESERVED_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
    }
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)
"""What frames the request or routes the connection, in lower case: never the user's to set."""

_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


class UncallableError(ValueError):
    """The target is such that nothing can be sent; the message is a sentence."""


def webhook_of(work: Work) -> HttpTarget:
    """Return the webhook that work calls; raises UncallableError for what is none."""
    if not isinstance(work.target, HttpTarget):
        raise UncallableError("This target is no webhook.")
    return work.target


def parse_url(text: str) -> URL:
    """Return the url of a target; raises UncallableError unless it is http or https and names a host."""
    try:
        url = URL(text)
    except ValueError:
        raise UncallableError("The target's url is malformed.") from None
    if url.scheme not in {"http", "https"}:
        raise UncallableError("The target's url must begin with https:// or http://.")
    if not url.host:
        raise UncallableError("The target's url names no host.")
    return url


def parse_method(text: str) -> str:
    """Return a target's method in upper case; raises UncallableError for one that is no webhook's."""
    method = text.upper()
    if method not in METHODS:
        raise UncallableError(f"The target's method must be one of {', '.join(sorted(METHODS))}.")
    return method


def check_headers(target: HttpTarget) -> None:
    """Raise UncallableError for a header of the user's that cannot be sent, or is not the user's to set."""
    for name, value in target.headers.items():
        if not _TOKEN.fullmatch(name):
            raise UncallableError("The name of one of the target's headers is not a header's name.")
        if name.lower() in RESERVED_HEADERS:
            raise UncallableError(f"The header {name} is Timeball's to set; remove it from the target.")
        if _UNSENDABLE.search(value):
            raise UncallableError(f"The target's header {name} holds a character that cannot be sent.")


def headers_of(call: Call, now: int, token: str | None = None) -> CIMultiDict[str]:
    """Return the headers of a request at `now` (ms): the user's, and ours, which win but for two of them.

    `token`: with it the target may report on the attempt.
    """
    target = webhook_of(call.work)
    check_headers(target)
    headers: CIMultiDict[str] = CIMultiDict(target.headers)
    headers.setdefault("User-Agent", f"Timeball/{__version__}")
    if call.work.payload is not None:  # some frameworks answer 400 to an empty body that claims to be JSON
        headers.setdefault("Content-Type", "application/json")
    headers["Accept-Encoding"] = "identity"
    headers["Timeball-Job-Id"] = call.run.job.job_id
    headers["Timeball-Run-Id"] = str(call.run)
    headers["Timeball-Attempt"] = str(call.attempt)
    headers["Timeball-Fire-Time"] = format_instant(call.run.fire_at)
    headers["Timeball-Depth"] = str(call.depth)
    headers["Timeball-Scheduled-By"] = call.run.origin.value
    if token is not None:
        headers["Timeball-Callback-Token"] = token
    headers["Idempotency-Key"] = str(call.run)
    headers["webhook-id"] = str(call.run)
    headers["webhook-timestamp"] = str(now // SECOND_MS)
    return headers
