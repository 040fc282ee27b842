"""Decides whether a call is sent again, and after how long: a pure function of what has happened so far.

A call is repeated only if that is safe: if nothing was done, or if the same request again has the same effect.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

TRIES = 5
"""How often a call is sent, at most."""
LONGEST_WAIT_SECONDS = 20.0
"""An answer that asks for a longer wait is raised at once."""
_FIRST_WAIT_SECONDS = 0.5

_UNREPEATABLE = re.compile(
    r"/v1/(admin/tenants|admin/(tenants/[^/]+/)?keys(/[^/]+/rotate)?|admin/signing-secret/rotate|sessions|sessions/codes"
    r"|targets:test|dead-letters:replay|runs/[^/]+/retry)"
)
"""The POST requests whose repeat may have another effect; the others have a key for it, or change nothing twice."""
_DISCARD = "/v1/dead-letters:discard"
"""With a limit, its repeat would discard that many more."""


@dataclass(frozen=True)
class Outcome:
    """What became of one try."""

    status: int | None
    """The HTTP status; None without an answer."""
    was_sent: bool = True
    """Whether the request may have reached the API."""
    retry_after: float | None = None
    """The wait that the answer asks for, in seconds."""


def is_repeatable(method: str, path: str, body: object = None) -> bool:
    """Return whether the same request again has the same effect, so that it may be sent after a lost answer."""
    path = path.partition("?")[0]
    is_limited = path == _DISCARD and isinstance(body, Mapping) and "limit" in body
    return method != "POST" or not (is_limited or _UNREPEATABLE.fullmatch(path))


def wait_before_next(outcome: Outcome, tries: int, *, repeatable: bool, draw: float) -> float | None:
    """Return the seconds to wait before a call is sent again; None if it is not.

    `tries` counts those that were made, `draw` is a random number from 0 to 1. Waits double, with jitter.
    """
    nothing_was_done = outcome.status == 429 or not outcome.was_sent
    may_succeed = outcome.status in (None, 429, 502, 503, 504)
    if tries >= TRIES or not may_succeed or not (nothing_was_done or repeatable):
        return None
    if outcome.retry_after is not None and outcome.retry_after > LONGEST_WAIT_SECONDS:
        return None
    longest = min(LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** (tries - 1))
    return max(outcome.retry_after or 0.0, longest * (0.5 + draw / 2))


def seconds_of(retry_after: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date; None if it is neither.

    `now` is in seconds since 1970.
    """
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - rare, and slow to import

    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except ValueError:
        return None
