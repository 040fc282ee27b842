"""Requests and write units of the store: of a scan beside many jobs that are not due, of a run and of a create.

The requests to a mocked DynamoDB are counted on the wire, and the write units are computed there (metering.py);
tests/end_to_end/test_write_units.py compares them with the consumption that an endpoint reports.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from aws_lambda_powertools.utilities.typing import LambdaContext

from bench.metering import Charges, meter
from tests.api.client import Api, event_of
from tests.contract.backends import client, moto, new_table
from tests.engine.play import NOW, Play, spec
from timeball.api.app import build_api
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.request_retries import Asker, Patience
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner

UNHURRIED = Patience(connect_seconds=2, read_seconds=5, longest_seconds=3600)
"""These measurements have no deadline, and moto is slow."""


def requests_of_a_scan(jobs_not_due: int) -> int:
    """Count the requests of a first scan, including older days, that finds one due job beside so many that are not."""
    with counted() as (play, charges):
        play.store_jobs([spec("due", Every(60, NOW))])
        play.store_jobs(spec(f"later-{n}", At(NOW + DAY_MS + n)) for n in range(jobs_not_due))
        charges.clear()
        found = scan(play.context(), 0, Owner("2026", "a"), Sweeps())
        if (found.candidates, found.sent) != (1, 1):
            raise AssertionError(f"the scan found {found}")
        return len(charges.requests)


def write_units_of_a_run() -> dict[str, int]:
    """Compute the write units of a one-off from its submission to its end, and of each fire of recurring jobs."""
    with counted() as (play, charges):
        play.store_jobs([spec("once", At(NOW))])
        play.run_on(JobKey("acme", "once"), HOUR_MS)
        one_off = charges.units
    often = spec("often", Every(60, NOW))
    return {
        "one-off": one_off,
        "recurring": _units_of_a_fire(often),
        "guarded": _units_of_a_fire(replace(often, overlap=OverlapPolicy.QUEUE_ONE)),
        "jittered": _units_of_a_fire(replace(often, jitter_seconds=30)),
    }


def _units_of_a_fire(wanted: JobSpec) -> int:
    """Compute the write units of the second fire of a job."""
    with counted() as (play, charges):
        (job,) = play.store_jobs([wanted])
        play.run_on(job.key, HOUR_MS)
        charges.clear()
        play.clock.advance(60 * SECOND_MS - (play.clock.now() - NOW))
        play.run_on(job.key, HOUR_MS)
        if len(play.runs(job.key)) != 2:
            raise AssertionError("there was no second fire to measure")
        return charges.units


def charges_of_a_create(path: str, body: object) -> Charges:
    """Count the requests to DynamoDB for one API request that creates jobs, and compute the price of its writes."""
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb)
        charges = meter(dynamodb, client("dynamodb"))
        play = Play(dynamo_store(dynamodb, table, threads=1, asker=Asker(UNHURRIED)))
        event = event_of("POST", path, "acme", {"Content-Type": "application/json"}, {}) | {"body": json.dumps(body)}
        answer = build_api(replace(Api().edge, context=play.context()))(event, LambdaContext())
        if answer["statusCode"] not in {200, 201}:
            raise AssertionError(answer["body"])
        return charges


@contextmanager
def counted() -> Iterator[tuple[Play, Charges]]:
    """Yield a Timeball on a mocked DynamoDB, and the charges of that."""
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb)
        charges = meter(dynamodb, client("dynamodb"))
        yield Play(dynamo_store(dynamodb, table, threads=1, asker=Asker(UNHURRIED))), charges
