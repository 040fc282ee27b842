"""Why a run did not execute, or did not succeed: one word for the row, the metric, the log and the API."""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """Why a run waits, is asked to stop, or ended as it did."""

    sentence: str
    """The explanation for people."""

    def __new__(cls, word: str, sentence: str = "") -> Self:
        """Make the member of a word."""
        reason = str.__new__(cls, word)
        reason._value_ = word
        reason.sentence = sentence
        return reason

    MISFIRED = (
        "misfired",
        "It was due while nothing could run it (an outage, a pause), and the catch-up policy skips it.",
    )
    CALENDAR = "calendar", "The job's calendar excludes its date."
    FROZEN = "frozen", "It was due during a freeze, and the catch-up policy skips it."
    SKIPPED_MANUALLY = "skipped_manually", "A user skipped it."
    PAUSED = "paused", "The job was paused when its turn in the cycle came."
    NO_EVENT = "no_event", "No event came for this fire since the last one that a fire has used."
    JOB_PAUSED = "job_paused", "The job was paused when the event came."
    IN_TIME = "in_time", "It was a notice of a late run, and that run is in time."
    SUPERSEDED = "superseded", "The job was rescheduled, and the new schedule does not have this instant."
    OVERLAP = "overlap", "An earlier run of the job was still under way, and the overlap policy skips this one."
    REPLACED = "replaced", "A newer run replaced it, by the job's overlap policy or its `supersede`."
    JOB_CANCELLED = "job_cancelled", "The job was cancelled."
    EARLIER_GENERATION = (
        "earlier_generation",
        "The job had ended and was put again under its id; only runs of its newest generation begin.",
    )
    BACKFILL_CANCELLED = "backfill_cancelled", "The backfill that it belongs to was cancelled."
    RUN_CANCELLED = "run_cancelled", "A user cancelled this run."
    JOB_GONE = "job_gone", "The job no longer exists."
    BLOCKED = "blocked", "A run that it waits for has failed for good; it continues once that run has succeeded."
    WAITING_FOR_PARENTS = "waiting_for_parents", "It waits for the runs of the jobs that its job depends on."
    PARENT_SKIPPED = "parent_skipped", "A job that it depends on was skipped, and its trigger rule does not hold."
    PARENT_CANCELLED = "parent_cancelled", "A job that it depends on was cancelled, and its trigger rule does not hold."
    RULE_UNMET = "rule_unmet", "The jobs that it depends on are done, and its trigger rule does not hold."
    DEPENDENCY_TIMEOUT = (
        "dependency_timeout",
        "It has waited for the jobs that it depends on for as long as its job allows.",
    )
    NO_ITEMS = "no_items", "The parent run that supplies its items has named none."
    BAD_ITEMS = (
        "bad_items",
        "The items cannot be used: fanOut must be a list of at most 1,000 items and 256 KB, in an answer of 16 KB.",
    )
    ITEMS_FAILED = (
        "items_failed",
        "The run of one of its items has failed for good; it succeeds once all of these runs have succeeded.",
    )
    ITEMS_CANCELLED = "items_cancelled", "The run of one of its items was cancelled."
    CIRCUIT_OPEN = (
        "circuit_open",
        "The resource that it calls keeps failing, so no run calls it for a while; waiting uses up no attempt.",
    )
    MARKED_SUCCEEDED = "marked_succeeded", "It had failed for good, and a user marked it as succeeded."
    HOST_PACED = (
        "host_paced",
        "The resource that it calls has failed lately, so waiting runs start at a limited rate; its start is set.",
    )
    LIMIT_WAIT = (
        "limit_wait",
        "All slots of its concurrencyLimit are taken; it waits for one, in the order of priority and fire time.",
    )
    RATE_WAIT = (
        "rate_wait",
        "The rate of its rateLimit is used up; it waits for a token, in the order of priority and fire time.",
    )
    QUOTA_WAIT = (
        "quota_wait",
        "A quota of its tenant is used up (runsAtOnce or runsPerSecond); it waits, by priority and fire time.",
    )
    LIMIT_FULL = "limit_full", "All slots of its concurrencyLimit were taken, and its onFull says skip."
    NOT_RETRIABLE = "not_retriable", "The target's answer says that another attempt would not succeed either."
    RETRIES_EXHAUSTED = "retries_exhausted", "Every attempt that the retry policy allows has failed."
    TOO_OLD = "too_old", "The next attempt would have begun after the retry policy's maximum age."
    AT_MOST_ONCE = "at_most_once", "The call may have left, and the job allows no second one (at_most_once)."
    PARENTS_TOO_LARGE = (
        "parents_too_large",
        "The answers of its parents exceed 256 KB together: store the data elsewhere, and answer with its location.",
    )
    HOST_DOWN = (
        "host_down",
        "The resource that it calls kept failing for as long as the retry policy lets a run wait.",
    )
    RECOVERY_IN_DOUBT = (
        "recovery_in_doubt",
        "A recovery from lost data cannot prove that it has not begun, and the job allows no second call.",
    )
    UNDELIVERABLE = "undeliverable", "The queue repeatedly failed to deliver the run's message."


FAILURES: tuple[Reason, ...] = (
    Reason.NOT_RETRIABLE,
    Reason.RETRIES_EXHAUSTED,
    Reason.TOO_OLD,
    Reason.AT_MOST_ONCE,
    Reason.PARENTS_TOO_LARGE,
    Reason.HOST_DOWN,
    Reason.UNDELIVERABLE,
    Reason.RECOVERY_IN_DOUBT,
)
"""The reasons why runs fail for good, and so become dead letters."""

WAITS_IN_LINE: frozenset[Reason] = frozenset({Reason.LIMIT_WAIT, Reason.RATE_WAIT, Reason.QUOTA_WAIT})
"""The reasons of runs that wait until a limiter admits them."""
