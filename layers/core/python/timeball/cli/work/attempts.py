"""One attempt of a run, as a message of a queue names it, and what is reported about it.

Invariant: only Timeball's own refusal says that an attempt is over. A report that may not have arrived is sent again.
Any other answer, such as one of a proxy or about a token that is not known, ends the worker.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from timeball.cli.connection import path_of
from timeball.cli.status import CommandError, Status
from timeball.cli.work.queue_client import QueueMessage
from timeball.client import Timeball
from timeball.client.errors import ApiError

RESULT_BYTES: Final = 16_000
"""The API takes 16 KB as the result of a run."""
_ERROR_CHARACTERS: Final = 1000
_OVER: Final = {"stale-attempt", "lease-expired", "no-callback-expected", "not-found"}
"""The problems that say that an attempt is over."""
_BAD_RESULT: Final = {"invalid-request", "malformed-body", "body-too-large", "too-many-items"}
"""The problems that say that a result cannot be taken."""


@dataclass(frozen=True)
class Ending:
    """How the work of an attempt ended."""

    result: object = None
    error: str | None = None
    """One sentence, if the work failed."""
    is_open: bool = False
    """Whether another program reports the end."""


@dataclass(frozen=True)
class QueuedAttempt:
    """An attempt that a message names."""

    run_id: str
    number: int
    facts: Mapping[str, str]
    """What Timeball says about the run, by the names of its headers."""
    payload: str
    token: str | None
    """With it the attempt reports; None if Timeball waits for no report."""

    @classmethod
    def of(cls, message: QueueMessage) -> Self | None:
        """Return the attempt of a message; None if Timeball did not send it."""
        facts = message.attributes
        run, attempt = facts.get("Timeball-Run-Id"), facts.get("Timeball-Attempt", "")
        if not run or not attempt.isdecimal():
            return None
        return cls(run, int(attempt), facts, message.body, facts.get("Timeball-Callback-Token"))

    def __str__(self) -> str:
        return f"{self.run_id}, attempt {self.number}"


def report(client: Timeball, work: QueuedAttempt, word: str, **about: object) -> Mapping[str, Any] | None:
    """Report about an attempt and return the answer; None if the attempt is over, or its result cannot be taken.

    Raises ApiError if the API did not answer, or asks to wait; CommandError if the answer is none about the attempt;
    ValueError if the report is no JSON.
    """
    headers = {"Authorization": f"Bearer {work.token}"}
    body = {"attempt": work.number, **about}
    try:
        answer = client.request("POST", path_of("runs", work.run_id, word), body, headers=headers)
    except ApiError as refused:
        if refused.type in _OVER | _BAD_RESULT:
            return None
        if refused.status in (0, 429) or refused.status >= 500:
            raise
        raise _no_answer(client, work, refused.detail, Status.NOT_ALLOWED) from None
    if not isinstance(answer, Mapping) or "runId" not in answer:
        raise _no_answer(client, work, "The answer describes no run.", Status.USAGE)
    return answer


def _no_answer(client: Timeball, work: QueuedAttempt, why: str, status: Status) -> CommandError:
    """Return the error for an answer that leaves open whether the attempt is over."""
    return CommandError(
        f"{work}: {client.url} takes no report on it. {why} Compare the URL with the deployment's output ApiUrl; the "
        "message goes back into the queue.",
        status,
    )


def error_text(text: str) -> str:
    """Return the end of an error, as long as a report may have it, and never empty."""
    return text.strip()[-_ERROR_CHARACTERS:] or "The work failed and gave no reason."
