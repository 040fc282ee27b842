"""Handlers as Lambda calls them: real sockets, AWS mocked; an executor's target that never answers.

Their clock runs as the machine's does, and shows the middle of an hour when a test begins.
"""

import json
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from functions import api as app
from functions import watch
from functions.execute import handler
from tests.api.client import event_of
from tests.contract.backends import REGION, client, moto, new_table
from tests.contract.rows import NOW
from timeball.aws.dynamodb.table.mapper import work_text
from timeball.aws.dynamodb.table.schema import TENANTS
from timeball.aws.executors import LambdaSuccessor
from timeball.domain.model.ids import JobKey, RunId, Shards
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget, SqsTarget
from timeball.domain.time.schedule import At, Schedule
from timeball.domain.usage.hours import CALLERS, UNKNOWN_TENANT
from timeball.engine.context import Context
from timeball.engine.runs.watch import reconcile_messages
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.collections import LedgerQuery
from timeball.ports.due_index import Owner
from timeball.ports.queue import Depth
from timeball.runtime import wiring
from timeball.runtime.clock import SystemClock

QUEUES = ("HIGH", "NORMAL", "LOW", "WATCH", "UNREADABLE")
CACHED = (
    *(wiring.environment, wiring.engine_context, wiring.executor_context),
    *(wiring._client, wiring._queue_threads, wiring._tally),
)


@dataclass
class Invocation:
    """The context of a function with this much time left."""

    left_ms: int
    aws_request_id: str = "an-invocation"

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


class MidHour(SystemClock):
    """The machine's clock, shifted to the middle of an hour."""

    def __init__(self) -> None:
        self._ahead_ms = NOW - super().now()

    def now(self) -> int:
        return super().now() + self._ahead_ms


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with moto():
        sqs = client("sqs")
        environment = {
            **{f"TIMEBALL_QUEUE_{name}": _new_queue(sqs, name.lower()) for name in QUEUES},
            "TIMEBALL_JOBS_TABLE": new_table(client("dynamodb")),
            "TIMEBALL_TENANTS_TABLE": new_table(client("dynamodb"), TENANTS),
            "TIMEBALL_WRITES": "single",  # moto gets PartiQL wrong
            "TIMEBALL_AWS_CLIENT": "boto3",  # moto mocks no connections of our own
            "TIMEBALL_SHARDS": "1",
            "TIMEBALL_PRIVATE_TARGETS": "127.0.0.0/8",
            "AWS_DEFAULT_REGION": REGION,
        }
        for name in [name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")]:
            monkeypatch.delenv(name)  # the function must talk to moto, whatever endpoint the suite has
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        for cached in CACHED:
            cached.cache_clear()
        clock = MidHour()
        monkeypatch.setattr(wiring, "SystemClock", lambda: clock)
        yield sqs
        wiring._queue_threads().shutdown()
        for cached in CACHED:
            cached.cache_clear()


def _new_queue(sqs: Any, name: str) -> str:
    return str(sqs.create_queue(QueueName=name)["QueueUrl"])


def _events(sqs: Any) -> dict[str, Any]:
    """Receive the messages of the normal queue, as Lambda would pass them on."""
    messages = sqs.receive_message(QueueUrl=wiring.environment().queues["normal"], MaxNumberOfMessages=10)["Messages"]
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


def _a_second_at_a_mute_target(sqs: Any, left_ms: int) -> tuple[Run, list[Attempt], dict[str, Any]]:
    """Run a job whose call may take a second, in a function with this much time left."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        context = wiring.executor_context()
        now = context.clock.now()
        work = Work(HttpTarget(f"http://127.0.0.1:{mute.getsockname()[1]}/"), "{}")
        spec = JobSpec(JobKey("acme", "slow"), Schedule(At(now)), work, "print", timeout_seconds=1)
        job = new_job(spec, now, Shards(1))
        assert context.store.jobs.insert([job], now) == [None]
        scan(context, 0, Owner("2026", "a"), Sweeps())
        event = _events(sqs)
        answer = handler(event, Invocation(left_ms=left_ms))
    (run,) = context.store.runs.ledger(LedgerQuery(job.key, 10)).runs
    return run, context.store.attempts.of_run(run.id), answer


def test_a_call_that_takes_longer_than_its_timeout_is_cut_and_retried_later(sqs: Any) -> None:
    run, (attempt,), answer = _a_second_at_a_mute_target(sqs, 60_000)
    assert (run.state, run.attempt, answer) == (RunState.RETRYING, 1, {"batchItemFailures": []})
    assert attempt.outcome is Outcome.TIMED_OUT
    assert attempt.error is not None
    assert attempt.error.endswith("within 1 s.")  # by then it may have had no connection
    ((hour, counts),) = wiring.executor_context().store.usage.between("acme", 0, run.created_at)
    assert (hour.subject, counts["RunsStarted"], counts["RunsRetried.timed_out"]) == ("normal", 1, 1)


def test_an_executor_checks_for_each_call_whether_its_tenant_may_make_it(
    sqs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (arn,) = sqs.get_queue_attributes(QueueUrl=_new_queue(sqs, "jobs"), AttributeNames=["QueueArn"])[
        "Attributes"
    ].values()
    monkeypatch.setenv("TIMEBALL_TARGETS", f"{arn}=globex")
    told = {}
    for tenant in ("acme", "globex"):
        trial = {"tenant": tenant, "work": work_text(Work(SqsTarget(arn), "{}")), "timeoutSeconds": 5}
        answer = handler({"trial": trial}, Invocation(left_ms=60_000))
        told[tenant] = json.loads(answer["trial"])["verdict"]
    assert told == {"acme": "failed", "globex": "succeeded"}


def test_the_api_adds_its_count_of_refusals_at_the_end_of_its_first_request(sqs: Any) -> None:
    assert sqs
    event = event_of("GET", "/v1/jobs", None, {"Authorization": "Bearer tb_x"}, {})
    event["requestContext"]["authorizer"]["lambda"] = {"refused": "unknown"}
    app._api.cache_clear()
    for _ in range(3):
        assert app.handler(event, Invocation(29_000))["statusCode"] == 401  # type: ignore[arg-type]
    app._api.cache_clear()
    usage, now = wiring.engine_context().store.usage, wiring.engine_context().clock.now()
    ((hour, counts),) = usage.between(UNKNOWN_TENANT, 0, now)
    assert (hour.subject, dict(counts)) == (CALLERS, {"AuthenticationsFailed.unknown": 1})  # the other counts wait


def test_a_run_that_might_not_fit_into_the_functions_remaining_time_goes_back_untouched(sqs: Any) -> None:
    run, attempts, answer = _a_second_at_a_mute_target(sqs, 20_500)
    assert (run.state, run.attempt, attempts) == (RunState.QUEUED, 0, [])
    assert answer["batchItemFailures"] == []
    assert len(_events(sqs)["Records"]) == 1  # a new message


class Lambda:
    """A Lambda client that records its requests."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def invoke(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        return {"StatusCode": 202}


def test_an_executor_starts_its_function_as_a_successor_that_takes_the_messages_of_the_queue(sqs: Any) -> None:
    sqs.send_message(
        QueueUrl=wiring.environment().queues["normal"], MessageBody='{"tenant":"acme","runs":["gone.1.s"]}'
    )
    called, now = Lambda(), wiring.executor_context().clock.now()
    LambdaSuccessor(lambda: called, "Timeball-execute-normal", f"arn:aws:sqs:{REGION}:123456789012:normal").start(  # type: ignore[arg-type, return-value]
        now + 1_000
    )
    (asked,) = called.asked
    assert (asked["FunctionName"], asked["InvocationType"]) == ("Timeball-execute-normal", "Event")
    assert handler(json.loads(asked["Payload"]), Invocation(left_ms=900_000)) == {"batchItemFailures": []}
    assert wiring.executor_context().clock.now() >= now + 1_000
    assert wiring.executor_context().queue.depth("normal") == Depth(0, 0, 0)


@pytest.mark.parametrize(("percent", "drawn", "has_one"), [(0, 0.0, False), (20, 0.19, True), (20, 0.2, False)])
def test_a_percentage_of_executors_starts_successors(
    percent: int, drawn: float, *, has_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIMEBALL_SUCCESSOR_PERCENT", str(percent))
    monkeypatch.setenv("TIMEBALL_SUCCESSOR", "Timeball-execute-low:live")
    assert (wiring.executor_successor("arn:aws:sqs:us-east-1:1:low", lambda: drawn) is not None) == has_one


def _kept(sqs: Any) -> list[str]:
    url = wiring.environment().queue_unreadable
    return [message["Body"] for message in sqs.receive_message(QueueUrl=url).get("Messages", [])]


def test_an_unreadable_message_is_kept_elsewhere_and_the_others_are_processed(sqs: Any) -> None:
    sqs.send_message(QueueUrl=wiring.environment().queues["normal"], MessageBody="{")
    sqs.send_message(
        QueueUrl=wiring.environment().queues["normal"], MessageBody='{"tenant":"acme","runs":["gone.1.s"]}'
    )
    event = _events(sqs)
    assert len(event["Records"]) == 2
    assert handler(event, Invocation(left_ms=900_000)) == {"batchItemFailures": []}
    assert _kept(sqs) == ["{"]


def test_an_unreadable_message_is_returned_if_it_cannot_be_kept(sqs: Any) -> None:
    sqs.send_message(QueueUrl=wiring.environment().queues["normal"], MessageBody="{")
    event = _events(sqs)
    sqs.delete_queue(QueueUrl=wiring.environment().queue_unreadable)
    (record,) = event["Records"]
    answer = handler(event, Invocation(left_ms=900_000))
    assert answer == {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}


def test_an_unreadable_or_failing_dead_letter_moves_to_the_queue_of_unreadable_messages(
    sqs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = ["{", '{"tenant":"acme","runs":["odd.1.s"]}', '{"tenant":"acme","runs":["gone.1.s"]}']
    for body in bodies:
        sqs.send_message(QueueUrl=wiring.environment().queues["normal"], MessageBody=body)

    def judging(context: Context, ids: Sequence[RunId]) -> list[bool]:
        if any(run.job.job_id == "odd" for run in ids):
            raise KeyError("state")
        return reconcile_messages(context, ids)

    monkeypatch.setattr(watch, "reconcile_messages", judging)
    assert watch.handler(_events(sqs), Invocation(left_ms=60_000)) == {"batchItemFailures": []}
    assert sorted(_kept(sqs) + _kept(sqs)) == sorted(bodies[:2])


@pytest.mark.parametrize("tenant", ["acme", "runs"])
def test_a_message_that_a_queue_gave_up_on_is_reconciled_whatever_its_tenants_name(
    tenant: str, sqs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqs.send_message(
        QueueUrl=wiring.environment().queues["normal"], MessageBody=f'{{"tenant":"{tenant}","runs":["gone.1.s"]}}'
    )
    judged: list[RunId] = []

    def judging(context: Context, ids: Sequence[RunId]) -> list[bool]:
        judged.extend(ids)
        return reconcile_messages(context, ids)

    monkeypatch.setattr(watch, "reconcile_messages", judging)
    assert watch.handler(_events(sqs), Invocation(left_ms=60_000)) == {"batchItemFailures": []}
    assert [run.job.tenant for run in judged] == [tenant]
    assert _kept(sqs) == []


@pytest.mark.usefixtures("sqs")
def test_an_executor_makes_a_trial_and_returns_its_result() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        work = Work(HttpTarget(f"http://127.0.0.1:{mute.getsockname()[1]}/"))
        asked = {"tenant": "acme", "work": work_text(work), "timeoutSeconds": 1}
        answer = handler({"trial": asked}, Invocation(left_ms=60_000))
    tried = json.loads(answer["trial"])
    assert (tried["verdict"], tried["error"]) == ("failed", "127.0.0.1 did not answer in full within 1 s.")


def test_a_message_of_several_runs_that_a_queue_gave_up_on_is_deleted_once_all_runs_go_on(
    sqs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqs.send_message(
        QueueUrl=wiring.environment().queues["normal"],
        MessageBody='{"tenant":"acme","runs":["gone.1.s","contended.1.s"]}',
    )
    monkeypatch.setattr(watch, "reconcile_messages", lambda _, ids: [run.job.job_id != "contended" for run in ids])
    event = _events(sqs)
    (failed,) = watch.handler(event, Invocation(left_ms=60_000))["batchItemFailures"]
    assert failed == {"itemIdentifier": event["Records"][0]["messageId"]}
