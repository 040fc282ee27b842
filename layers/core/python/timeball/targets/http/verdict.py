"""The verdict about an attempt from an HTTP answer, or from its absence: pure rules, and the only ones on a status."""

import re
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime

from timeball.domain.model.runs.values import Accepted, Failed, Succeeded, Verdict
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.target import Answer, Call
from timeball.targets.calls import is_retried

ACCEPTED = 202
"""The status by which a target says that it will report."""


def answered(
    call: Call, called_at: int | None, finished_at: int, status: int, body: str = "", retry_after: str = ""
) -> Answer:
    """Return the result of a call from its answer. A 4xx shows that the host works."""
    verdict, error = _verdict(call, status), None
    if isinstance(verdict, Failed):
        verdict = Failed(verdict.may_retry, parse_retry_after(retry_after, finished_at))
        error = f"The target answered with status {status}."
    return Answer(verdict, called_at, finished_at, status, body, error, is_down=status >= 500)


def _verdict(call: Call, status: int) -> Verdict:
    if status == ACCEPTED and call.takes_report:
        return Accepted()
    if 200 <= status < 300:
        return Succeeded()
    return Failed(may_retry=is_retried(call, status))


def parse_retry_after(text: str, now: int) -> float | None:
    """Return the seconds from `now` (ms) that a Retry-After asks for, or None if it makes no sense."""
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    with suppress(ValueError, OverflowError):
        moment = parsedate_to_datetime(text)
        at = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * SECOND_MS
        return max(0.0, (at - now) / SECOND_MS)
    return None
