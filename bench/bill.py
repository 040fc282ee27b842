"""Timeball's costs in dollars by documented prices (`timeball/domain/usage/bill.py`): idle, and for each run.

Requests, units and processor time are measured (handlers.py). Other figures are documented: how often Lambda's pollers
poll, how early a message arrives before its instant, how long DynamoDB takes to answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.bill import CALLS_OF_A_BATCH, PRICES, QUEUE_REQUESTS_OF_A_BATCH, SECONDS_A_MONTH
from timeball.engine.scanning.pulse import EVERY_MS

QUEUES, EXECUTORS_QUEUES = 5, 3
"""The queues that functions consume: three priorities, watches, and events."""

_POLLS_A_SECOND = 5 / 20
"""Polls of an idle queue by Lambda's five pollers, each of which waits for 20 s (documented)."""
_OVERLAP = 63 / 60
"""A loop of the ticker begins each minute, and the loop before it ends within three seconds."""
_STANDBY = 58 / 60
"""A loop that stands by ends a minute later, and polls each fifth second until then."""
_EXPRESS_GB = 64 / 1024
_GB, _EXECUTOR_GB = 1024 / 1024, 512 / 1024
_GB_OF_A_PROCESSOR = 1769 / 1024
"""1,769 MB are one processor (documented)."""
_ROUND_TRIP_MS = 5
"""DynamoDB answers within some milliseconds (documented as single-digit)."""
_AHEAD_MS = 3_500
"""Messages of many runs reach executors 3 to 4 s before their instant, and executors wait with them."""
_REQUESTS_OF_AN_EXECUTOR = 7
"""Sequential requests for each batch."""
ALARMS, COMPOSITES = 15, 4
"""The alarms on one metric, and those made of others, with one partition."""
METRICS_OF_A_CANARY = ("CanaryDelay", "Lateness")
"""The metrics of `basic` that a canary's run writes, and nothing else while nothing is due or fails."""
METRICS_OF_TICKS = 1
"""With `metrics` of `basic`, scans write one series while nothing is due."""
_LINE_BYTES = 200
"""A line of the log with that metric, and what CloudWatch adds to it."""
_BYTES_OF_A_GB = 1e9
_MILLION = 1_000_000
STREAM_SHARDS = 4
"""A new table has four partitions, and its stream a shard for each (documented)."""
_ARCHIVE_CALL_SECONDS, _ARCHIVE_RUN_MS = 0.1, 0.2
"""How long the archive's function waits for S3, and its processor time for all records of a run: 0.08 ms for the end,
0.09 ms for the release of its effects, and 0.02 ms for the plan of its job."""
_ARCHIVED_BYTES = 300
"""A compressed line, beside others."""
_PUBLISH_CALL_SECONDS, _EVENT_MS = 0.03, 0.3
"""How long the function of lifecycle events waits for EventBridge, and its processor time for an event."""
_EVENT = 1 / _MILLION
"""EventBridge's price of an event of up to 64 KB."""
_PUT, _STORED_GB_MONTH = 5 / _MILLION, 0.023
"""S3's prices of an object that is put, and of a GB."""
_USD_OF_A_LONE_RUN = 24.16 / _MILLION
"""What a run costs that is due alone (docs/reference/aws.md)."""
_IDLE_AFTER_SECONDS, _IDLE_SECONDS = 65, 3
"""A scan counts as idle a minute after it found something; then the next one is three seconds later."""
_BUSY_SCAN_CPU_MS = 1.0
"""The processor time of a scan that queries; `make bench` measures it."""
_IDLE_BEAT_SECONDS = 6
"""Such scans note every second time that they go on (BEAT_MS of 5 s)."""
_CANARY_SECONDS = 300
HOURS_A_MONTH = 730


@dataclass(frozen=True)
class Item:
    """A line of the bill: what, its monthly quantity, and its price in dollars."""

    what: str
    quantity: str
    dollars: float


def idle_month(
    read_units: float,
    cpu_ms: float,
    partitions: int = 1,
    pollers: int = 0,
    scan_mb: int = 1024,
    metrics: int = METRICS_OF_TICKS,
) -> Sequence[Item]:
    """Return the costs of a month in which nothing is due, from the cost of each scan of a partition.

    Provisioned `pollers` of the executors' queues poll at no further price. `metrics` is how many series the scans
    write meanwhile.
    """
    gigabytes = scan_mb / 1024
    ticking = SECONDS_A_MONTH * _OVERLAP
    scans = ticking * partitions / _IDLE_SECONDS
    billed_ms = _billed_ms(cpu_ms, gigabytes)
    gb_seconds = scans * billed_ms / 1000 * gigabytes
    polled = QUEUES - EXECUTORS_QUEUES if pollers else QUEUES
    polls = polled * _POLLS_A_SECOND * SECONDS_A_MONTH
    starts = SECONDS_A_MONTH / 60
    express = ticking * _EXPRESS_GB
    reads = scans * read_units
    beats = SECONDS_A_MONTH / _IDLE_BEAT_SECONDS * partitions
    log_gb = partitions * SECONDS_A_MONTH * SECOND_MS / EVERY_MS * _LINE_BYTES / _BYTES_OF_A_GB if metrics else 0
    return (
        Item("the ticker's duration", f"{express:,.0f} GB-s", express * PRICES.express_gb_second),
        Item("the ticker's starts", f"{starts:,.0f}", starts * PRICES.express_start),
        Item("the scan's calls", f"{scans:,.0f}", scans * PRICES.function_request),
        Item(
            f"the scan's duration, {billed_ms:.0f} ms each",
            f"{gb_seconds:,.0f} GB-s",
            gb_seconds * PRICES.function_gb_second,
        ),
        Item("the scan's reads", f"{reads:,.0f} units", reads * PRICES.read_unit),
        Item("the ticker's ownership records", f"{beats:,.0f} units", beats * PRICES.write_unit),
        Item("polls of idle queues", f"{polls:,.0f}", polls * PRICES.queue_request),
        Item("provisioned pollers", f"{pollers}", pollers * PRICES.poller_hour * HOURS_A_MONTH),
        Item("the metric `Ticks`", f"{metrics}", metrics * PRICES.metric_month),
        Item("its lines in the log", f"{log_gb:.2f} GB", log_gb * PRICES.log_gb),
    )


def _billed_ms(cpu_ms: float, gigabytes: float) -> float:
    """Return the duration that a scan is billed for: its processor time, and two requests one after the other."""
    return cpu_ms * _GB_OF_A_PROCESSOR / gigabytes + 2 * _ROUND_TRIP_MS


def watched_month() -> Sequence[Item]:
    """Return what a month of alarms and the dashboard costs on top of an idle month."""
    return (
        Item("alarms on one metric", f"{ALARMS}", ALARMS * PRICES.alarm_month),
        Item("alarms made of others", f"{COMPOSITES}", COMPOSITES * PRICES.composite_alarm_month),
        Item("the dashboard", "1", PRICES.dashboard_month),
    )


def canary_month(seconds: int, shards: int = 4) -> Sequence[Item]:
    """Return what a month of a canary costs: its runs, and the scans that are not idle for a minute after each."""
    runs = SECONDS_A_MONTH / seconds
    busy = min(1, _IDLE_AFTER_SECONDS / seconds) * SECONDS_A_MONTH
    scans = busy * (1 - 1 / _IDLE_SECONDS)
    scan = PRICES.function_request + shards * 0.5 * PRICES.read_unit
    scan += _billed_ms(_BUSY_SCAN_CPU_MS, _GB) / 1000 * _GB * PRICES.function_gb_second
    metrics = len(METRICS_OF_A_CANARY)
    return (
        Item("the canary's runs", f"{runs:,.0f}", runs * _USD_OF_A_LONE_RUN),
        Item("the metrics of its runs", f"{metrics}", metrics * PRICES.metric_month),
        Item("scans for a minute after each", f"{scans:,.0f}", scans * scan),
    )


def archive_month(runs: float, tenants: int = 1, seconds: int = 60) -> Sequence[Item]:
    """Return what a month of an archive costs in which runs of so many tenants end all the time.

    The stream, and the reads and filters of it by Lambda, are free of charge.
    """
    calls = min(runs, STREAM_SHARDS * SECONDS_A_MONTH / seconds)
    objects = min(runs, calls * tenants)
    gb_seconds = (calls * _ARCHIVE_CALL_SECONDS + runs * _ARCHIVE_RUN_MS / 1000 * _GB_OF_A_PROCESSOR) * _GB
    stored = runs * _ARCHIVED_BYTES / _BYTES_OF_A_GB
    return (
        Item("objects", f"{objects:,.0f}", objects * _PUT),
        Item("calls of the function", f"{calls:,.0f}", calls * PRICES.function_request),
        Item("its duration", f"{gb_seconds:,.0f} GB-s", gb_seconds * PRICES.function_gb_second),
        Item("storage of the month's lines", f"{stored:.1f} GB", stored * _STORED_GB_MONTH),
    )


def lifecycle_month(runs: float, events: float) -> Sequence[Item]:
    """Return what a month of lifecycle events costs, with so many events of each run.

    Records without a wanted event mostly do not reach the function; those of plans of jobs are not counted.
    """
    published = runs * events
    calls = min(published, STREAM_SHARDS * SECONDS_A_MONTH)
    gb_seconds = (calls * _PUBLISH_CALL_SECONDS + published * _EVENT_MS / 1000 * _GB_OF_A_PROCESSOR) * _GB
    return (
        Item("events on the bus", f"{published:,.0f}", published * _EVENT),
        Item("calls of the function", f"{calls:,.0f}", calls * PRICES.function_request),
        Item("its duration", f"{gb_seconds:,.0f} GB-s", gb_seconds * PRICES.function_gb_second),
    )


def standby_month(cpu_ms: float) -> float:
    """Return the monthly costs in dollars of ticker executions that stand by (`takeover_seconds` of 15)."""
    seconds = SECONDS_A_MONTH * _STANDBY
    asks = seconds / 5
    gb_seconds = asks * (cpu_ms * _GB_OF_A_PROCESSOR + _ROUND_TRIP_MS * _GB) / 1000
    ask = PRICES.function_request + 0.5 * PRICES.read_unit
    return seconds * _EXPRESS_GB * PRICES.express_gb_second + asks * ask + gb_seconds * PRICES.function_gb_second


def whole_month(read_units: float, cpu_ms: float) -> Sequence[Item]:
    """Return the costs of an idle month of the stage `small` with everything that can be added to it."""
    standing_by = Item("an execution that stands by (`takeover_seconds` of 15)", "1", standby_month(cpu_ms))
    idle = [item for item in idle_month(read_units, cpu_ms) if item.dollars]
    return (*idle, *watched_month(), *canary_month(_CANARY_SECONDS), standing_by)


def usd_per_million(burst: Mapping[str, float], created_cpu_ms: float | None = None) -> float:
    """Return the costs of a million runs, from those of each run; for one-offs with a request that creates each."""
    batches = 1 / burst["runs_of_a_batch"]
    scan_gb_seconds = burst["scan_cpu_ms"] / 1000 * _GB_OF_A_PROCESSOR
    executor_ms = (_AHEAD_MS + _REQUESTS_OF_AN_EXECUTOR * _ROUND_TRIP_MS) * batches
    executor_gb_seconds = executor_ms / 1000 * _EXECUTOR_GB + burst["execute_cpu_ms"] / 1000 * _GB_OF_A_PROCESSOR
    usd = (
        burst["write_units"] * PRICES.write_unit
        + burst["read_units"] * PRICES.read_unit
        + QUEUE_REQUESTS_OF_A_BATCH * batches * PRICES.queue_request
        + CALLS_OF_A_BATCH * batches * PRICES.function_request
        + (scan_gb_seconds + executor_gb_seconds) * PRICES.function_gb_second
    )
    if created_cpu_ms is not None:
        api_gb_seconds = (created_cpu_ms / 1000 * _GB_OF_A_PROCESSOR) + 2 * _ROUND_TRIP_MS / 1000 * _GB
        usd += burst["submit_write_units"] * PRICES.write_unit
        usd += PRICES.api_request + PRICES.function_request + api_gb_seconds * PRICES.function_gb_second
    return usd * _MILLION
