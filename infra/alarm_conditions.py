"""The conditions of the alarms: what each watches, in one table.

Each says what missing data means. Invariant: an alarm needs no more than the metrics that `basic` writes, and those
that AWS writes itself; none computes with several metrics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra.queues import Queues
from infra.settings import Settings

_LESS: Final = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_AT_LEAST: Final = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
_BREACHES: Final = cloudwatch.TreatMissingData.BREACHING
_IS_FINE: Final = cloudwatch.TreatMissingData.NOT_BREACHING

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

CANARY_MISSED = "CanaryMissed"
LATE_FAST, LATE_SLOW = "LateFast", "LateSlow"

_QUIET_MINUTES = 15
"""For how long at least no watch must be done: longer than the alarms take that explain it, such as `TickSilent`."""

_ARCHIVE_LAG_MS = _HOUR * 1000
"""From which age of its records on the archive lags: long before Lambda gives records up, after 23 hours."""

_EVENTS_LAG_MS = 10 * _MINUTE * 1000
"""From which age of its records on the function of lifecycle events lags: a pager that is so late is no pager."""

_OFF_TIME = 3
"""How many runs of the canary in a row must be late or early: one may meet a cold start."""

_FAST, _SLOW = 14.4, 6.0
"""How many times as fast as allowed a budget of 30 days burns: 2 % of it in an hour, and 5 % of it in six hours."""


@dataclass(frozen=True)
class Condition:
    """One alarm of CloudWatch: `most` of the newest `of` values of a statistic meet a threshold."""

    name: str
    """Its name."""
    about: str
    """What it means."""
    metric: str
    """The metric."""
    statistic: str
    """The statistic of the metric over a period."""
    seconds: int
    """The period."""
    compares: cloudwatch.ComparisonOperator
    """How a value is compared with the threshold."""
    threshold: float
    """The threshold."""
    most: int = 1
    """How many values must meet it."""
    of: int = 1
    """Among how many."""
    missing: cloudwatch.TreatMissingData = _IS_FINE
    """What a missing value means."""
    part_of: str = ""
    """The alarm that it is a part of, and that notifies instead of it; empty: it notifies people itself."""
    queue: sqs.IQueue | None = None
    """The queue of SQS whose metric it is; None: it is a metric of a function, or of Timeball's own."""
    function: str = ""
    """The function whose metric of Lambda it is; empty: it is a metric of a queue, or of Timeball's own."""


@dataclass(frozen=True)
class Combination:
    """An alarm made of others: all of them, or any; but not while one of some others explains it."""

    name: str
    """Its name."""
    about: str
    """What it means."""
    parts: tuple[str, ...]
    """The alarms that it is made of."""
    needs_all: bool
    """Whether it needs all of them; False: any."""
    unless: tuple[str, ...] = ()
    """The alarms that explain it."""


def conditions(settings: Settings, queues: Queues) -> Iterator[Condition]:
    """Yield the alarms of a deployment on one metric each."""
    wanted = settings.alarming
    yield from _of_parts(settings, queues)
    yield Condition(
        "TickSilent",
        "Page: the ticker is silent, or nearly all of its scans fail, so nothing that falls due is sent.",
        "Ticks",
        "Sum",
        _MINUTE,
        _LESS,
        wanted.alarm_ticks_per_minute * settings.partitions,
        2,
        2,
        _BREACHES,
    )
    yield Condition(
        "Behind",
        "Page: the scan finds what fell due long ago, so runs start late.",
        "OldestDue",
        "Maximum",
        _MINUTE,
        _AT_LEAST,
        wanted.alarm_overdue_seconds * 1000,
        3,
        3,
    )
    yield Condition(
        "NoHands",
        "Page: runs were sent, and no executor claims them.",
        "RunsUnclaimed",
        "Sum",
        _MINUTE,
        _AT_LEAST,
        wanted.alarm_unclaimed_runs,
        3,
        5,
    )
    yield from _budgets(settings)
    yield Condition(
        "DeadLetters",
        "Ticket: many runs fail for good.",
        "DeadLetters",
        "Sum",
        5 * _MINUTE,
        _AT_LEAST,
        wanted.alarm_dead_letters,
    )
    yield Condition(
        "Unreadable",
        "Ticket: a message that no function can read waits for a person.",
        "ApproximateNumberOfMessagesVisible",
        "Maximum",
        5 * _MINUTE,
        _AT_LEAST,
        1,
        queue=queues.unreadable,
    )
    yield Condition(
        "Throttled",
        "Ticket: AWS keeps refusing requests because there are too many.",
        "Throttled",
        "Sum",
        _MINUTE,
        _AT_LEAST,
        wanted.alarm_throttled,
        3,
        5,
    )
    yield Condition(
        "AuthenticationsFailed",
        "Ticket: many requests have a key that is not valid.",
        "AuthenticationsFailed",
        "Sum",
        5 * _MINUTE,
        _AT_LEAST,
        wanted.alarm_failed_authentications,
    )


def _of_parts(settings: Settings, queues: Queues) -> Iterator[Condition]:
    """Yield the alarms on parts that a deployment may lack, and on those that only other parts can miss."""
    if settings.partitions > 1:
        yield Condition(
            "PartitionSilent",
            "Page: a partition is not scanned, or all of its scans fail, so nothing in it is sent.",
            "PartitionsSilent",
            "Sum",
            _MINUTE,
            _AT_LEAST,
            1,
            3,
            5,
        )
    if settings.archiving.is_on:
        yield Condition(
            "ArchiveBehind",
            "Ticket: the archive is an hour behind, so records may be lost after 23 hours.",
            "IteratorAge",
            "Maximum",
            5 * _MINUTE,
            _AT_LEAST,
            _ARCHIVE_LAG_MS,
            function="archive",
        )
    if settings.functions.lifecycle_events:
        yield Condition(
            "EventsBehind",
            "Ticket: lifecycle events come ten minutes late, so other services do not learn what fails.",
            "IteratorAge",
            "Maximum",
            5 * _MINUTE,
            _AT_LEAST,
            _EVENTS_LAG_MS,
            function="lifecycle",
        )
    if settings.has_canary:
        yield from _of_canary(settings, queues)


def _of_canary(settings: Settings, queues: Queues) -> Iterator[Condition]:
    """Yield the alarms on the canary's runs: whether they come, whether on time, and whether they are watched."""
    wanted = settings.alarming
    three_runs = _minutes(3 * wanted.canary_seconds)
    yield Condition(
        "WatchSilent",
        "Ticket: the watch does nothing, so lost messages are not sent again.",
        "NumberOfMessagesDeleted",
        "Sum",
        _MINUTE,
        _LESS,
        1,
        max(_QUIET_MINUTES, three_runs),
        max(_QUIET_MINUTES, three_runs),
        _BREACHES,
        queue=queues.watch.queue,
    )
    two_runs = _minutes(2 * wanted.canary_seconds)
    yield Condition(
        "CanarySilent",
        f"A part of {CANARY_MISSED}: two runs of the canary in a row have not come.",
        "CanaryDelay",
        "SampleCount",
        _MINUTE,
        _LESS,
        1,
        two_runs,
        two_runs,
        _BREACHES,
        part_of=CANARY_MISSED,
    )
    yield Condition(
        "CanaryOffTime",
        "Ticket: runs of the canary come late or early, so all runs may be late, or a clock is wrong.",
        "CanaryDelay",
        "Maximum",
        _MINUTE,
        _AT_LEAST,
        wanted.alarm_canary_ms,
        _OFF_TIME,
        three_runs,
    )


def _minutes(seconds: int) -> int:
    return -(-seconds // _MINUTE)


def _budgets(settings: Settings) -> Iterator[Condition]:
    """Yield the alarms on the budget of late runs, by the share of runs that were on time."""
    wanted = settings.alarming
    on_time, late_percent = f"PR(:{wanted.alarm_late_ms})", wanted.alarm_late_runs / 10
    for whole, part, factor, seconds in (
        (LATE_FAST, "OneHour", _FAST, _HOUR),
        (LATE_FAST, "FiveMinutes", _FAST, 5 * _MINUTE),
        (LATE_SLOW, "SixHours", _SLOW, 6 * _HOUR),
        (LATE_SLOW, "HalfHour", _SLOW, 30 * _MINUTE),
    ):
        about = f"A part of {whole}: over this time late runs use up their budget {factor:g} times too fast."
        least = round(100 - factor * late_percent, 2)
        yield Condition(whole + part, about, "Lateness", on_time, seconds, _LESS, least, part_of=whole)
    yield Condition(
        "LateForDays",
        "Ticket: on each of three days more runs were late than the budget allows.",
        "Lateness",
        on_time,
        _DAY,
        _LESS,
        round(100 - late_percent, 2),
        3,
        3,
    )


def combinations(settings: Settings) -> Iterator[Combination]:
    """Yield the alarms that are made of others."""
    canary: tuple[str, ...] = ()
    if settings.has_canary:
        canary = ("CanarySilent",)
        yield Combination(
            CANARY_MISSED,
            "Page: the canary does not arrive, although ticks go on and runs are claimed.",
            canary,
            needs_all=True,
            unless=("TickSilent", "NoHands", "Behind"),
        )
    yield Combination(
        LATE_FAST,
        "Page: for an hour, and still now, late runs use up their monthly budget within two days.",
        ("LateFastOneHour", "LateFastFiveMinutes"),
        needs_all=True,
    )
    yield Combination(
        LATE_SLOW,
        "Page: for six hours, and still now, late runs use up their monthly budget within five days.",
        ("LateSlowSixHours", "LateSlowHalfHour"),
        needs_all=True,
    )
    yield Combination(
        "Down",
        "Page: Timeball is down. Nothing is sent, or nothing that was sent is called.",
        ("TickSilent", "NoHands", *canary),
        needs_all=False,
    )
