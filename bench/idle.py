"""What a Timeball costs in a month in which nothing is due: the stage `small`, item by item, by documented prices.

`python -m bench.idle` prints it. The scan is the real one, over the real client of AWS, whose requests are answered at
once: their number, their read units and the scan's processor time are counted here; what no scan tells is documented.
"""

import io
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from urllib3.response import HTTPResponse

from tests.contract.backends import client
from tests.engine.play import NOW
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.prices import PRICES, SECONDS_A_MONTH
from timeball.engine.context import Context, Rules
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.partitions import Owner
from timeball.targets.http.resource import host_of
from timeball.testing.kept_telemetry import KeptTelemetry
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

SCANS = 3_600
"""An hour's: what is asked once a minute is asked sixty times."""

_FIRST_SCANS = 60
"""Of a table that was never scanned, they ask a month back."""

QUEUES = 4
"""That a function consumes: three priorities, and watches."""

_POLLS_A_SECOND = 5 / 20
"""Of Lambda's pollers at an idle queue: five, each of which waits for 20 s (documented)."""
_OVERLAP = 62 / 60
"""A loop of the ticker begins each minute, and the one before ends within two seconds."""
_EXPRESS_GB = 64 / 1024
_SCAN_GB = 1024 / 1024
_SCAN_PROCESSORS = 1024 / 1769
"""1,769 MB are one processor (documented)."""
_ROUND_TRIP_MS = 5
"""DynamoDB answers in some milliseconds (documented as single-digit)."""


_Row = dict[str, dict[str, str]]


@dataclass
class Answers:
    """Answers each request of a client at once, as a table would that has owners and oldest days alone; and counts.

    `rows` are those, by their partition keys.
    """

    requests: int = 0
    read_units: float = 0.0
    rows: dict[str, _Row] = field(default_factory=dict)

    def answer(self, request: "AWSPreparedRequest", **_: object) -> AWSResponse:
        """Answer a request before it is sent."""
        sent: Any = request
        operation = sent.headers["X-Amz-Target"].decode().rpartition(".")[2]
        body = json.loads(sent.body)
        self.requests += 1
        if operation == "Query":
            self.read_units += 1.0 if body.get("ConsistentRead") else 0.5
            return _answer(request.url, {"Items": [], "Count": 0, "ScannedCount": 0})
        if operation == "BatchGetItem":
            ((table, asked),) = body["RequestItems"].items()
            each = 1.0 if asked.get("ConsistentRead") else 0.5
            self.read_units += each * len(asked["Keys"])
            rows = [self.rows[key["pk"]["S"]] for key in asked["Keys"] if key["pk"]["S"] in self.rows]
            return _answer(request.url, {"Responses": {table: rows}, "UnprocessedKeys": {}})
        if operation == "PutItem":
            self.rows[body["Item"]["pk"]["S"]] = body["Item"]
        else:  # an oldest day moves on
            values = body["ExpressionAttributeValues"]
            names = body["ExpressionAttributeNames"].values()
            self.rows[body["Key"]["pk"]["S"]].update({name: values[f":{name}"] for name in names})
        return _answer(request.url, {})


def _answer(url: str, body: dict[str, Any]) -> AWSResponse:
    return AWSResponse(
        url, HTTPStatus.OK, HTTPHeaders(), HTTPResponse(io.BytesIO(json.dumps(body).encode()), preload_content=False)
    )


@dataclass(frozen=True)
class Scans:
    """A second's scan on average: requests, read units, and processor time in ms."""

    requests: float
    read_units: float
    cpu_ms: float


def measure(scans: int = SCANS) -> Scans:
    """Scan an empty table each second, and count."""
    dynamodb = client("dynamodb")
    answers = Answers()
    dynamodb.meta.events.register("before-send.dynamodb", answers.answer)
    clock = VirtualClock(NOW)
    context = Context(dynamo_store(dynamodb, "jobs"), MemoryQueue(clock.now), clock, Rules(), KeptTelemetry(), host_of)
    owner, sweeps, begun = Owner("2026", "a"), Sweeps(), 0.0
    for second in range(_FIRST_SCANS + scans):
        if second == _FIRST_SCANS:
            answers.requests, answers.read_units, begun = 0, 0.0, time.process_time()
        clock.advance(SECOND_MS)
        scan(context, 0, owner, sweeps)
    cpu_ms = (time.process_time() - begun) * 1000 / scans
    return Scans(answers.requests / scans, answers.read_units / scans, cpu_ms)


@dataclass(frozen=True)
class Item:
    """A line of the bill: what, how much of it in a month, and in dollars."""

    what: str
    quantity: str
    dollars: float


def bill(scans: Scans) -> Sequence[Item]:
    """Return what a month costs in which the scans are such."""
    seconds = SECONDS_A_MONTH * _OVERLAP
    billed_ms = scans.cpu_ms / _SCAN_PROCESSORS + 2 * _ROUND_TRIP_MS
    gb_seconds = seconds * billed_ms / 1000 * _SCAN_GB
    polls = QUEUES * _POLLS_A_SECOND * SECONDS_A_MONTH
    starts = SECONDS_A_MONTH / 60
    express = seconds * _EXPRESS_GB
    reads = seconds * scans.read_units
    return (
        Item("the ticker's duration", f"{express:,.0f} GB-s", express * PRICES.express_gb_second),
        Item("the ticker's starts", f"{starts:,.0f}", starts * PRICES.express_start),
        Item("the scan's calls", f"{seconds:,.0f}", seconds * PRICES.function_request),
        Item(
            f"the scan's duration, {billed_ms:.0f} ms each",
            f"{gb_seconds:,.0f} GB-s",
            gb_seconds * PRICES.function_gb_second,
        ),
        Item("the scan's reads", f"{reads:,.0f} units", reads * PRICES.read_unit),
        Item("polls of idle queues", f"{polls:,.0f}", polls * PRICES.queue_request),
        Item("the secret with the first admin key", "1", PRICES.secret_month),
    )


def main() -> int:
    """Print the bill."""
    scans = measure()
    print("an idle scan (counted; processor time measured here)")
    print(f"  {scans.requests:.2f} requests, {scans.read_units:.2f} read units, {scans.cpu_ms:.1f} ms of CPU")
    print("an idle month of the stage `small` (by documented prices)")
    items = bill(scans)
    for item in items:
        print(f"  {item.what:<36}{item.quantity:>18}{item.dollars:>8.2f} $")
    print(f"  {'in all':<36}{'':>18}{sum(item.dollars for item in items):>8.2f} $")
    return 0


if __name__ == "__main__":
    sys.exit(main())
