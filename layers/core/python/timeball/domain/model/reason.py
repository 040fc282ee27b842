"""Why a run did not execute, or did not succeed: one word for the row, the metric, the log and the API."""

from collections.abc import Mapping
from enum import StrEnum


class Reason(StrEnum):
    """Why a run waits, is asked to stop, or ended as it did."""

    MISFIRED = "misfired"
    SUPERSEDED = "superseded"
    OVERLAP = "overlap"
    REPLACED = "replaced"
    JOB_CANCELLED = "job_cancelled"
    BACKFILL_CANCELLED = "backfill_cancelled"
    RUN_CANCELLED = "run_cancelled"
    JOB_GONE = "job_gone"
    CIRCUIT_OPEN = "circuit_open"
    HOST_PACED = "host_paced"
    NOT_RETRIABLE = "not_retriable"
    RETRIES_EXHAUSTED = "retries_exhausted"
    TOO_OLD = "too_old"
    AT_MOST_ONCE = "at_most_once"
    HOST_DOWN = "host_down"
    UNDELIVERABLE = "undeliverable"


FAILURES: tuple[Reason, ...] = (
    Reason.NOT_RETRIABLE,
    Reason.RETRIES_EXHAUSTED,
    Reason.TOO_OLD,
    Reason.AT_MOST_ONCE,
    Reason.HOST_DOWN,
    Reason.UNDELIVERABLE,
)
"""Those for which a run fails for good: what a dead letter may have died of."""


SENTENCES: Mapping[Reason, str] = {
    Reason.MISFIRED: "It was due while nothing could run it (an outage, a pause), and the catch-up policy skips it.",
    Reason.SUPERSEDED: "The job was rescheduled, and this instant is no occurrence of the new schedule.",
    Reason.OVERLAP: "An earlier run of the job was still under way, and the overlap policy skips this one.",
    Reason.REPLACED: "A later fire took its place, as the overlap policy says.",
    Reason.JOB_CANCELLED: "The job was cancelled.",
    Reason.BACKFILL_CANCELLED: "The backfill that it belongs to was cancelled.",
    Reason.RUN_CANCELLED: "Somebody cancelled this run.",
    Reason.JOB_GONE: "The job no longer exists.",
    Reason.CIRCUIT_OPEN: "Its host keeps failing, so it is not called for a while; waiting uses up no attempt.",
    Reason.HOST_PACED: "Its host has failed lately, so those that wait for it take turns; this one has its turn.",
    Reason.NOT_RETRIABLE: "The target's answer says that another try would fare no better.",
    Reason.RETRIES_EXHAUSTED: "Every attempt that the retry policy allows has failed.",
    Reason.TOO_OLD: "The next try would have come after the retry policy's maximum age.",
    Reason.AT_MOST_ONCE: "The call may have left, and the job allows no second one (at_most_once).",
    Reason.HOST_DOWN: "Its host kept failing for as long as the retry policy lets a run wait.",
    Reason.UNDELIVERABLE: "The queue gave up on the run's message again and again.",
}
"""What a person reads for a reason."""
