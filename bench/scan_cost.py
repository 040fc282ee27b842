"""What the store is asked for: requests of a scan beside many jobs that are not due, and write units of a run.

`python bench/scan_cost.py` prints both. The requests are counted on the wire to a mocked DynamoDB. The write units are
computed from the rows as they stood before and after each write, by DynamoDB's published rules: a unit for each KB of
the row; for each index one for a key that appears or goes, two for one that changes. A refused write costs one.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tests.contract.backends import client, moto, new_table
from tests.engine.play import NOW, Play, spec
from timeball.aws.schema import JOBS
from timeball.aws.store import DynamoStore
from timeball.domain.ids import JobKey
from timeball.domain.instants import DAY_MS, HOUR_MS, SECOND_MS
from timeball.domain.new_job import JobSpec
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.schedule import At, Every
from timeball.engine.cursor import Sweeps
from timeball.engine.scan import scan
from timeball.ports import Owner

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse
    from botocore.model import OperationModel
    from types_boto3_dynamodb import DynamoDBClient

_HOUSEKEEPING = ("PARTITION#", "SHARD#")
"""Rows that are written per scan or hour, not per run."""


@dataclass
class Ledger:
    """What one client asked of DynamoDB: operations in order, and write units by job."""

    operations: list[str] = field(default_factory=list)
    units: int = 0


def requests_of_a_scan(jobs_not_due: int) -> int:
    """Count the requests of a first scan, closed hours and all, that finds one job due among so many that are not."""
    with _counted() as (play, ledger):
        play.store_jobs([spec("due", Every(60, NOW))])
        play.store_jobs(spec(f"later-{n}", At(NOW + DAY_MS + n)) for n in range(jobs_not_due))
        ledger.operations.clear()
        found = scan(play.world(), 0, Owner("2026", "a"), Sweeps())
        if (found.candidates, found.sent) != (1, 1):
            raise AssertionError(f"the scan found {found}")
        return len(ledger.operations)


def write_units_of_a_run() -> dict[str, int]:
    """Compute the write units of a one-off from its submission to its end, and of each fire of recurring jobs."""
    with _counted() as (play, ledger):
        play.store_jobs([spec("once", At(NOW))])
        play.run_on(JobKey("acme", "once"), HOUR_MS)
        one_off = ledger.units
    often = spec("often", Every(60, NOW))
    return {
        "one-off": one_off,
        "recurring": _units_of_a_fire(often),
        "guarded": _units_of_a_fire(replace(often, overlap=OverlapPolicy.QUEUE_ONE)),
        "jittered": _units_of_a_fire(replace(often, jitter_seconds=30)),
    }


def _units_of_a_fire(wanted: JobSpec) -> int:
    """Compute the write units of the second fire of a job."""
    with _counted() as (play, ledger):
        (job,) = play.store_jobs([wanted])
        play.run_on(job.key, HOUR_MS)
        ledger.units = 0
        play.clock.advance(60 * SECOND_MS - (play.clock.now() - NOW))
        play.run_on(job.key, HOUR_MS)
        if len(play.runs(job.key)) != 2:
            raise AssertionError("a second fire was to be measured")
        return ledger.units


@contextmanager
def _counted() -> Iterator[tuple[Play, Ledger]]:
    with moto():
        dynamodb, ledger = client("dynamodb"), Ledger()
        table = new_table(dynamodb)
        _Meter(dynamodb, client("dynamodb"), ledger)
        yield Play(DynamoStore(dynamodb, table, threads=1)), ledger


class _Meter:
    """Watches one client, and looks with another at the row before and after each write."""

    def __init__(self, watched: "DynamoDBClient", looking: "DynamoDBClient", ledger: Ledger) -> None:
        self._looking, self._ledger = looking, ledger
        self._before: dict[str, Any] | None = None
        self._where: dict[str, Any] = {}
        watched.meta.events.register("before-call.dynamodb", self._before_call)
        watched.meta.events.register("after-call.dynamodb", self._after_call)

    def _before_call(self, model: "OperationModel", params: dict[str, str], **_: object) -> None:
        self._ledger.operations.append(model.name)
        body = json.loads(params["body"])
        if model.name in ("PutItem", "UpdateItem"):
            key = body.get("Key") or {name: body["Item"][name] for name in ("pk", "sk")}
            self._where = {"TableName": body["TableName"], "Key": key}
            self._before = self._row()

    def _after_call(self, model: "OperationModel", http_response: "AWSResponse", **_: object) -> None:
        if model.name not in ("PutItem", "UpdateItem"):
            return
        if self._where["Key"]["pk"]["S"].startswith(_HOUSEKEEPING):
            return
        self._ledger.units += 1 if http_response.status_code != 200 else write_units(self._before, self._row())

    def _row(self) -> dict[str, Any] | None:
        row: dict[str, Any] | None = self._looking.get_item(**self._where, ConsistentRead=True).get("Item")
        return row


def write_units(before: dict[str, Any] | None, after: dict[str, Any] | None) -> int:
    """Return what turning one row into another costs, indexes included."""
    units = max(-(-_size(row) // 1024) for row in (before, after))
    for index in JOBS.indexes:
        names = (index.partition.name, index.sort.name)
        was, now = (_key(row, names) for row in (before, after))
        if was != now:
            units += (was is not None) + (now is not None)
    return units


def _size(row: dict[str, Any] | None) -> int:
    return sum(len(name) + len(str(*value.values()).encode()) for name, value in (row or {}).items())


def _key(row: dict[str, Any] | None, names: tuple[str, str]) -> tuple[str, ...] | None:
    if row is None or any(name not in row for name in names):
        return None
    return tuple(str(*row[name].values()) for name in names)


def main() -> int:
    """Print the figures."""
    print("requests of a scan that finds one job due (counted)")
    for jobs in (10, 1_000):
        print(f"  beside {jobs:>5} jobs that are not due: {requests_of_a_scan(jobs):>4}")
    print("write units of a run (computed)")
    for kind, units in write_units_of_a_run().items():
        print(f"  {kind:<10} {units:>3}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
