"""Measure Lambda's handlers, each in its own process that does nothing else, against the loopback endpoint.

`python -m bench.handlers <part> <endpoint's port>` prints the figures of a part as JSON. Figures are processor time of
the whole process (all of its threads) and counts, which vary little on a busy machine.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from bench.endpoint import Endpoint
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import DAY_MS, HOUR_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import At, Every, Schedule, Timing

QUEUES = ("high", "normal", "low", "watch", "unreadable")
BATCH = 10
"""The most messages that Lambda hands to an executor at once."""
RUNS = {"recurring": 1_000, "one_off": 400}
"""The runs of a burst at one instant, each a POST; more of the kind that has goals."""

_AHEAD_MS = 9_000
_SEEN_AHEAD_SECONDS = 4.5
_WARM = 200
"""Runs of a burst before the measured one: enough for some batches after those that are left out."""
_FIRST_BATCHES = 2
"""The first batches of an executor, which are left out: it makes connections and waits for the instant."""
_SCANS = 600
_TICKS = 20
_PASS = 12
"""Scans until a new process has looked back a month."""
_FIRST_SCANS = 120
"""The first scans of a new table look back a month, and only after a minute does a scan take it to be idle."""

NOT_DUE = {
    "name": "nightly",
    "handler": "https://example.com/hook",
    "cronExpression": "0 9 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "payload": {"report": "sales", "rows": 100},
    "tags": {"team": "blue"},
}
"""A typical job, whose first fire is hours away."""


@dataclass
class Invocation:
    """Lambda's context of an invocation."""

    aws_request_id: str = "invocation"

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining time."""
        return 900_000


@dataclass
class Measured:
    """The processor time (ms) of some work, and the counts of the endpoint."""

    cpu_ms: float = 0.0
    requests: int = 0
    calls: int = 0
    read_units: float = 0.0
    write_units: int = 0

    @contextmanager
    def of(self, endpoint: Endpoint) -> Any:  # noqa: ANN401 - an iterator of nothing
        """Measure the work within this context."""
        endpoint.counts()
        begun = time.process_time()
        yield
        self.cpu_ms += (time.process_time() - begun) * 1000
        counted = endpoint.counts()
        self.calls += counted["requests"].pop("POST", 0)
        self.requests += sum(counted["requests"].values())
        self.read_units += counted["read_units"]
        self.write_units += counted["write_units"]


def environment(url: str) -> dict[str, str]:
    """Return the environment that Lambda and the stack give a function, with the endpoint as AWS."""
    return {
        **{f"TIMEBALL_QUEUE_{name.upper()}": f"{url}/1/{name}" for name in QUEUES},
        "TIMEBALL_JOBS_TABLE": "jobs",
        "TIMEBALL_TENANTS_TABLE": "tenants",
        "TIMEBALL_PRIVATE_TARGETS": "127.0.0.0/8",
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "a token of some length " * 30,
        "POWERTOOLS_SERVICE_NAME": "bench",
        "PYTHONTZPATH": "",
    }


def measure(part: str, endpoint: Endpoint, *arguments: str) -> dict[str, Any]:
    """Measure a part in its own process."""
    port = endpoint.url.rpartition(":")[2]
    command = [sys.executable, "-m", "bench.handlers", part, port, *arguments]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "TIMEBALL_")) or name == "TIMEBALL_AWS_CLIENT"
    }
    done = subprocess.run(command, env=kept | environment(endpoint.url), stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def imports(_: Endpoint, module: str) -> Mapping[str, float]:
    """Measure the cold start of a function: load its module, create and connect its context."""
    os.environ["AWS_LAMBDA_FUNCTION_NAME"] = "bench"
    begun = time.process_time()
    __import__(module)
    return {"cpu_ms": (time.process_time() - begun) * 1000}


def submit(endpoint: Endpoint) -> Mapping[str, float]:
    """Measure the API's handler for each created job: in its own request, and in batches of a hundred."""
    from functions.api import handler  # noqa: PLC0415 - in a process with the endpoint as AWS
    from tests.api.client import event_of  # noqa: PLC0415
    from timeball.api.jobs.batches import MAX_JOBS  # noqa: PLC0415

    def asked(path: str, body: object, times: int) -> Measured:
        event = event_of("POST", path, "acme", {"Content-Type": "application/json"}, {}) | {"body": json.dumps(body)}
        measured = Measured()
        for _ in range(2):  # the first time is a warm-up
            measured = Measured()
            with measured.of(endpoint):
                for _ in range(times):
                    if handler(event, Invocation())["statusCode"] not in {200, 201}:  # type: ignore[arg-type]
                        raise AssertionError("a job was not created")
        return measured

    alone, batches = asked("/v1/jobs", NOT_DUE, 100), asked("/v1/jobs:batch", {"jobs": [NOT_DUE] * MAX_JOBS}, 3)
    return {"single": alone.cpu_ms / 100, "batch": batches.cpu_ms / (3 * MAX_JOBS)}


def burst(endpoint: Endpoint, kind: str) -> Mapping[str, float]:
    """Measure a burst from its scan to its end; the executors' handler runs in its own process."""
    from functions import scan  # noqa: PLC0415 - in a process with the endpoint as AWS

    event = {"owner": {"startedAt": "2026", "name": "a"}, "partition": 0, "partitions": 1}
    figures: dict[str, float] = {}
    runs = 0
    for runs in (_WARM, RUNS[kind]):
        fire_at = time.time_ns() // 1_000_000 + _AHEAD_MS
        submitted, scanned = Measured(), Measured()
        with submitted.of(endpoint):
            _submit(endpoint, kind, runs, fire_at)
        for _ in range(_PASS):  # connects, drains the older days, and finds nothing due
            scan.handler(event, Invocation())
        time.sleep(max(fire_at / SECOND_MS - _SEEN_AHEAD_SECONDS - time.time(), 0))
        with scanned.of(endpoint):
            while scan.handler(event, Invocation())["backlog"]:
                pass
        executed = measure("execute", endpoint, str(runs))
        figures = {
            "scan_cpu_ms": scanned.cpu_ms / runs,
            "execute_cpu_ms": executed["cpu_ms"] / executed["runs"],
            "scan_requests": scanned.requests / runs,
            "execute_requests": executed["requests"] / executed["runs"],
            "read_units": scanned.read_units / runs + executed["read_units"] / executed["runs"],
            "write_units": scanned.write_units / runs + executed["write_units"] / executed["runs"],
            "submit_write_units": submitted.write_units / runs,
            "runs_of_a_batch": executed["runs"] / executed["batches"],
        }
    return figures


def _submit(endpoint: Endpoint, kind: str, runs: int, fire_at: int) -> None:
    from timeball.engine.scheduling.submit import submit as submit_jobs  # noqa: PLC0415
    from timeball.runtime.wiring import engine_context  # noqa: PLC0415

    timing: Timing = Every(DAY_MS // SECOND_MS, fire_at) if kind == "recurring" else At(fire_at)
    work = Work(HttpTarget(f"{endpoint.url}/hook"), json.dumps({"report": "sales", "rows": 100, "note": "x" * 140}))
    specs = [
        JobSpec(JobKey("acme", f"{kind}-{fire_at}-{number}"), Schedule(timing), work, f"print-{number}")
        for number in range(runs)
    ]
    submit_jobs(engine_context(), specs, fire_at - _AHEAD_MS)


def execute(endpoint: Endpoint, expected: str) -> Mapping[str, float]:
    """Measure the executor's handler, which gets all waiting messages, batch by batch."""
    from functions.execute import handler  # noqa: PLC0415 - in a process with the endpoint as AWS

    batches = []
    while records := endpoint.messages("normal", BATCH):
        batches.append([{**record, "eventSourceARN": "arn:aws:sqs:us-east-1:1:normal"} for record in records])
    named = [sum(len(json.loads(record["body"])["runs"]) for record in records) for records in batches]
    if sum(named) != int(expected):
        raise AssertionError(f"{sum(named)} of {expected} runs were sent")
    measured = Measured()
    for number, records in enumerate(batches):
        one = Measured()
        with one.of(endpoint):
            left = handler({"Records": records}, Invocation(f"invocation-{number}"))["batchItemFailures"]
        if left or one.calls != named[number]:
            raise AssertionError(
                f"{one.calls} calls were made for {named[number]} runs, and {len(left)} messages returned"
            )
        if number >= _FIRST_BATCHES:
            measured.cpu_ms += one.cpu_ms
            measured.requests += one.requests
            measured.read_units += one.read_units
            measured.write_units += one.write_units
    return {**vars(measured), "runs": sum(named[_FIRST_BATCHES:]), "batches": len(named) - _FIRST_BATCHES}


def idle(endpoint: Endpoint, shards: str = "4") -> Mapping[str, float]:
    """Measure idle scans of `shards`: the first of a table, the first of a process, and the average of later ones."""
    from timeball.engine.scanning.buckets import Sweeps  # noqa: PLC0415 - in a process with the endpoint as AWS
    from timeball.engine.scanning.scan import scan  # noqa: PLC0415
    from timeball.ports.due_index import Owner  # noqa: PLC0415
    from timeball.runtime.wiring import scan_context  # noqa: PLC0415
    from timeball.testing.virtual_clock import VirtualClock  # noqa: PLC0415

    clock = VirtualClock(parse_instant("2026-11-21T12:00:00Z"))  # near midnight a scan queries two days
    context = scan_context()
    context = replace(context, clock=clock, rules=replace(context.rules, shards=int(shards)))
    owner, sweeps, wait_ms = Owner("2026", "a"), Sweeps(), SECOND_MS

    def scans(count: int) -> Measured:
        nonlocal wait_ms
        measured = Measured()
        with measured.of(endpoint):
            for _ in range(count):
                clock.advance(wait_ms)
                wait_ms = (3 if scan(context, 0, owner, sweeps).idle else 1) * SECOND_MS
        return measured

    first_of_all, _, later = scans(1), scans(_FIRST_SCANS), scans(_SCANS)
    sweeps = Sweeps()
    return {
        "first_requests": scans(1).requests,
        "first_of_all_requests": first_of_all.requests,
        "requests": later.requests / _SCANS,
        "read_units": later.read_units / _SCANS,
        "cpu_ms": later.cpu_ms / _SCANS,
    }


def ticks(endpoint: Endpoint) -> Mapping[str, float]:
    """Measure the reads of a minute of ticks beside a thousand jobs that are not due, and beside a hundred thousand."""
    from functions import scan  # noqa: PLC0415 - in a process with the endpoint as AWS
    from timeball.engine.context import Rules  # noqa: PLC0415

    event = {"owner": {"startedAt": "2026", "name": "a"}, "partition": 0, "partitions": 1}
    now, figures = time.time_ns() // 1_000_000, {}
    for name, jobs in (("1k", range(1_000)), ("100k", range(1_000, 100_000))):
        endpoint.store([_row_not_due(f"later-{job}", now, job % Rules().shards) for job in jobs])
        measured = Measured()
        for _ in range(2):  # the first time is a warm-up
            measured = Measured()
            with measured.of(endpoint):
                for _ in range(_TICKS):
                    if scan.handler(event, Invocation())["backlog"]:
                        raise AssertionError("a job was due")
        figures[f"read_units_{name}"] = measured.read_units
    return figures


def _row_not_due(name: str, now: int, shard: int) -> dict[str, Any]:
    """Return a job's row as it is in the due index: it fires in an hour, or tomorrow."""
    from timeball.aws.dynamodb.table.keys import due_bucket, job_key  # noqa: PLC0415
    from timeball.aws.dynamodb.table.writes import to_values  # noqa: PLC0415

    due_at = now + HOUR_MS
    return to_values({**job_key(JobKey("acme", name)), "due_bucket": due_bucket(shard, due_at), "due_at": due_at})


PARTS: Mapping[str, Callable[..., Mapping[str, float]]] = {
    "imports": imports,
    "submit": submit,
    "burst": burst,
    "execute": execute,
    "idle": idle,
    "ticks": ticks,
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](Endpoint(int(sys.argv[2])), *sys.argv[3:])))
