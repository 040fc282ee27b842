"""The executor's handler as Lambda calls it: real clock, real sockets, AWS mocked; a target that never answers."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from functions.execute import handler
from tests.contract.backends import REGION, client, moto, new_table
from timeball.aws import wiring
from timeball.domain.ids import JobKey
from timeball.domain.job import HttpTarget, Work
from timeball.domain.new_job import JobSpec, new_job
from timeball.domain.run import Outcome, RunState
from timeball.domain.schedule import At, Schedule
from timeball.engine.cursor import Sweeps
from timeball.engine.scan import scan
from timeball.ports import LedgerQuery, Owner

CACHED = (wiring.settings, wiring.world, wiring.executor_world, wiring._sqs, wiring._queue_threads)


@dataclass
class Context:
    """A function that has so much time left."""

    left_ms: int
    aws_request_id: str = "an-invocation"

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with moto():
        sqs = client("sqs")
        environment = {
            **{f"TIMEBALL_QUEUE_{name}": _new_queue(sqs, name.lower()) for name in ("HIGH", "NORMAL", "LOW")},
            "TIMEBALL_JOBS_TABLE": new_table(client("dynamodb")),
            "TIMEBALL_WRITES": "single",  # moto gets PartiQL wrong
            "TIMEBALL_SHARDS": "1",
            "TIMEBALL_PRIVATE_TARGETS": "127.0.0.0/8",
            "AWS_DEFAULT_REGION": REGION,
        }
        for name in [name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")]:
            monkeypatch.delenv(name)  # the function is to speak to moto, whatever endpoint the suite is given
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        for cached in CACHED:
            cached.cache_clear()
        yield sqs
        wiring._queue_threads().shutdown()
        for cached in CACHED:
            cached.cache_clear()


def _new_queue(sqs: Any, name: str) -> str:
    return str(sqs.create_queue(QueueName=name)["QueueUrl"])


def _events(sqs: Any) -> dict[str, Any]:
    """Receive what waits in the normal queue, as Lambda would hand it over."""
    messages = sqs.receive_message(QueueUrl=wiring.settings().queues["normal"], MaxNumberOfMessages=10)["Messages"]
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "eventSourceARN": f"arn:aws:sqs:{REGION}:123456789012:normal",
            }
            for message in messages
        ]
    }


def test_a_function_whose_time_runs_out_cuts_its_call_and_writes_that_down(sqs: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        world = wiring.executor_world()
        now = world.clock.now()
        work = Work(HttpTarget(f"http://127.0.0.1:{mute.getsockname()[1]}/"), "{}")
        job = new_job(JobSpec(JobKey("acme", "slow"), Schedule(At(now)), work, "print"), now, 1)
        assert world.store.create_jobs([job], now) == [None]
        scan(world, 0, Owner("2026", "a"), Sweeps())
        event = _events(sqs)
        assert handler(event, Context(left_ms=20_500)) == {"batchItemFailures": []}
    (run,) = world.store.ledger(LedgerQuery(job.key, 10)).runs
    assert run.state is RunState.RETRYING
    (attempt,) = world.store.read_attempts(run.id)
    assert attempt.outcome is Outcome.TIMED_OUT
    assert attempt.error == "Its executor's own time was up before the target had answered."


def test_a_message_that_cannot_be_read_is_returned_and_the_others_are_worked_on(sqs: Any) -> None:
    sqs.send_message(QueueUrl=wiring.settings().queues["normal"], MessageBody="{")
    sqs.send_message(QueueUrl=wiring.settings().queues["normal"], MessageBody='{"tenant":"acme","run":"gone.1.s"}')
    event = _events(sqs)
    (unreadable,) = (record["messageId"] for record in event["Records"] if record["body"] == "{")
    answer = handler(event, Context(left_ms=900_000))
    assert answer == {"batchItemFailures": [{"itemIdentifier": unreadable}]}
