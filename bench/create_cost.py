"""What a create costs: CPU of the API's handler, alone and in a batch of a hundred; requests and write units.

`python -m bench.create_cost` prints it. The CPU is that of the process over the memory store, so that it is ours alone;
requests are counted on the wire to a mocked DynamoDB, and the write units are computed there (metering.py).
"""

import gc
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from bench.metering import Charges, meter
from bench.scan_cost import UNHURRIED
from functions.api.app import Handler, build_api
from functions.api.jobs.batch import MAX_JOBS
from tests.api.client import Api, event_of
from tests.contract.backends import client, moto, new_table
from tests.engine.play import Play
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.patience import Asker

NOT_DUE = {
    "name": "nightly",
    "handler": "https://example.com/hook",
    "cronExpression": "0 9 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "payload": {"report": "sales", "rows": 100},
    "tags": {"team": "blue"},
}
"""A job as people write them; its first fire is hours away."""

_ROUNDS = 7
_ALONE = 200


def milliseconds_of_a_create() -> tuple[float, float]:
    """Measure the handler's CPU (ms) per created job: alone, and in a full batch."""
    alone, batch = _event("/v1/jobs", NOT_DUE), _event("/v1/jobs:batch", {"jobs": [NOT_DUE] * MAX_JOBS})
    return _cpu(alone, 201, _ALONE) / _ALONE, _cpu(batch, 200, 2) / (2 * MAX_JOBS)


def charges_of_a_create(path: str, body: object) -> Charges:
    """Count what one request of jobs that are not due asks of DynamoDB, and what its writes cost."""
    with moto():
        dynamodb = client("dynamodb")
        table = new_table(dynamodb)
        charges = meter(dynamodb, client("dynamodb"))
        play = Play(dynamo_store(dynamodb, table, threads=1, asker=Asker(UNHURRIED)))
        _answer(build_api(replace(Api().edge, context=play.context())), _event(path, body))
        return charges


def _cpu(event: Mapping[str, Any], status: int, times: int) -> float:
    """Return the least CPU (ms) that so many requests took in several rounds, each on a store of its own."""

    def measured() -> float:
        handle = Api().handle
        gc.collect()
        begun = time.process_time_ns()
        for _ in range(times):
            if handle(event, LambdaContext())["statusCode"] != status:
                raise AssertionError("every job was to be created")
        return (time.process_time_ns() - begun) / 1e6

    return min(measured() for _ in range(_ROUNDS))


def _event(path: str, body: object) -> dict[str, Any]:
    return event_of("POST", path, "acme", {"Content-Type": "application/json"}, {}) | {"body": json.dumps(body)}


def _answer(handle: Handler, event: Mapping[str, Any]) -> None:
    answer = handle(event, LambdaContext())
    if answer["statusCode"] not in {200, 201}:
        raise AssertionError(answer["body"])


def main() -> int:
    """Print the figures."""
    alone, batched = milliseconds_of_a_create()
    print("CPU of the API's handler for each job that is created and not yet due (measured, store excluded)")
    print(f"  alone               {alone:>6.2f} ms")
    print(f"  in a batch of {MAX_JOBS}   {batched:>6.2f} ms ({alone / batched:.1f} times less)")
    print("requests and write units of a create that is not yet due (counted, computed)")
    for name, path, body, jobs in (
        ("alone", "/v1/jobs", NOT_DUE, 1),
        (f"a batch of {MAX_JOBS}", "/v1/jobs:batch", {"jobs": [NOT_DUE] * MAX_JOBS}, MAX_JOBS),
    ):
        charges = charges_of_a_create(path, body)
        print(f"  {name:<16} {len(charges.requests):>4} requests, {charges.units / jobs:.1f} write units for each job")
    return 0


if __name__ == "__main__":
    sys.exit(main())
