"""Why a change of a single run is refused, whether a person or the run's target asks for it."""

from enum import StrEnum

from timeball.domain.model.runs.run import Run


class Refusal(StrEnum):
    """Why a change is refused.

    Its state does not allow it; its job is cancelled, or gone. Of a report: the attempt is not the one that is under
    way; its lease is out; the run's job takes no report. Of items: the
    request has named others before; with those that it has named before they are too many, or too large together, or
    would make too many runs.
    """

    WRONG_STATE = "wrong_state"
    JOB_CANCELLED = "job_cancelled"
    STALE = "stale"
    EXPIRED = "expired"
    NOT_EXPECTED = "not_expected"
    CONFLICT = "conflict"
    TOO_MANY = "too_many"
    TOO_LARGE = "too_large"
    TOO_MANY_RUNS = "too_many_runs"


Answered = tuple[Refusal | None, Run | None]
"""Why the change was refused, or None if it is done; and the run as it stands, or None if there is no such run."""
