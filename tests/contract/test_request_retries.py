"""How long and how often the functions repeat requests to AWS: executors have leases to keep, every function an end."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from tests.contract.waits import Waits
from timeball.aws.clients import WireClient
from timeball.aws.dynamodb.tenants import DynamoHolders
from timeball.aws.request_retries import (
    BRISK,
    BRISKLY,
    PATIENT,
    PATIENTLY,
    PAUSES_SECONDS,
    REFUSALS,
    Patience,
    in_time,
    within,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context, Rules
from timeball.ports.errors import UnavailableError
from timeball.runtime import wiring

ENVIRONMENT = {
    **{
        f"TIMEBALL_QUEUE_{name}": f"https://sqs.example/1/{name.lower()}"
        for name in ("HIGH", "NORMAL", "LOW", "WATCH", "UNREADABLE")
    },
    "TIMEBALL_JOBS_TABLE": "jobs",
    "TIMEBALL_TENANTS_TABLE": "tenants",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
}
CACHED = (wiring.environment, wiring.engine_context, wiring.executor_context, wiring._client, wiring._queue_threads)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for cached in CACHED:
        cached.cache_clear()
    yield
    for cached in CACHED:
        cached.cache_clear()


def _patience(part: Any) -> Patience:
    """Return the patience of a part's asker, whose client waits as long for one try, and tries once."""
    client, patience = part._client, part._asker.patience
    if isinstance(client, WireClient):  # which never repeats a request: tests/contract/wire
        waits: Any = client._connections
        seconds = (waits._connect_seconds, waits._read_seconds)
    else:
        config = client.meta.config
        assert config.retries["total_max_attempts"] == 1
        seconds = (config.connect_timeout, config.read_timeout)
    assert seconds == (patience.connect_seconds, patience.read_seconds)
    found: Patience = patience
    return found


def _of_context(context: Context) -> set[Patience]:
    parts: list[Any] = [context.store.circuits, context.queue]
    return {_patience(part) for part in (parts[0]._table.writer, parts[0]._table.reader, parts[1])}


@pytest.mark.parametrize("aws_client", ["thin", "boto3"])
def test_an_executor_is_less_patient_than_other_functions(monkeypatch: pytest.MonkeyPatch, aws_client: str) -> None:
    monkeypatch.setenv("TIMEBALL_AWS_CLIENT", aws_client)
    assert _of_context(wiring.executor_context()) == {BRISK}
    assert _of_context(wiring.engine_context()) == _of_context(wiring.engine_context()) == {PATIENT}
    *_, inbox = wiring.executor_inboxes("arn:aws:sqs:us-east-1:1:normal")
    holders: Any = DynamoHolders.open("tenants")
    assert _patience(inbox) == _patience(wiring.unreadable_queue()) == _patience(holders._reader) == BRISK
    assert BRISK.longest_seconds < PATIENT.longest_seconds


def test_a_renewal_that_is_never_answered_leaves_its_lease_time_for_another() -> None:
    rules, longest_ms = Rules(), BRISK.longest_seconds * SECOND_MS
    together_and_then_alone_ms = rules.heartbeat_seconds * SECOND_MS + 2 * longest_ms
    assert together_and_then_alone_ms < rules.lease_ms - rules.margin_ms


class Unanswering:
    """A call that never succeeds: each try takes this long (ms) and ends in an error."""

    def __init__(self, waits: Waits, takes_ms: int, error: Exception) -> None:
        self._waits, self._takes_ms, self._error = waits, takes_ms, error
        self.tries = 0

    def ask(self) -> None:
        self.tries += 1
        self._waits.clock.advance(self._takes_ms)
        raise self._error


LOST = ReadTimeoutError(endpoint_url="https://dynamodb.example")
REQUESTS_THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "Query")


@pytest.mark.parametrize("patience", [BRISK, PATIENT], ids=["brisk", "patient"])
def test_a_request_with_a_lost_answer_is_repeated_and_none_outlasts_its_patience(patience: Patience) -> None:
    waits = Waits()
    mute = Unanswering(waits, patience.try_seconds * SECOND_MS, LOST)
    with pytest.raises(UnavailableError):
        waits.asker(patience).ask(mute.ask)
    assert mute.tries == 2
    assert waits.passed_ms <= patience.longest_seconds * SECOND_MS


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_request_that_is_throttled_for_ever_is_tried_six_times_in_less_than_two_seconds(share: float) -> None:
    waits = Waits()
    throttled = Unanswering(waits, 10, REQUESTS_THROTTLED)
    with pytest.raises(UnavailableError, match="ThrottlingException"):
        waits.asker(draw=lambda: share).ask(throttled.ask)
    assert throttled.tries == 6
    assert waits.seconds == [share * longest for longest in PAUSES_SECONDS]
    assert waits.passed_ms < 2 * SECOND_MS


def test_requests_that_were_refused_together_are_repeated_at_different_times() -> None:
    waited: set[tuple[float, ...]] = set()
    for seed in range(10):
        waits = Waits()
        draw = random.Random(seed).random  # noqa: S311 - replayable
        with pytest.raises(UnavailableError):
            waits.asker(draw=draw).ask(Unanswering(waits, 1, REQUESTS_THROTTLED).ask)
        assert all(0 <= wait <= longest for wait, longest in zip(waits.seconds, PAUSES_SECONDS, strict=True))
        waited.add(tuple(waits.seconds))
    assert len(waited) == 10
    assert {PATIENTLY.draw, BRISKLY.draw} == {random.random}


@pytest.mark.parametrize(
    ("code", "status"),
    [("TooManyRequestsException", 429), ("ThrottlingException", 400), ("ReservedConcurrencyExceeded", 429), ("", 429)],
)
def test_an_invocation_that_lambda_refuses_for_now_is_repeated(code: str, status: int) -> None:
    waits = Waits()
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    busy = Unanswering(waits, 10, ClientError(answer, "Invoke"))
    with pytest.raises(UnavailableError):
        waits.asker().ask(busy.ask)
    assert busy.tries == 6


def test_a_wrong_request_is_tried_once() -> None:
    waits = Waits()
    answer: Any = {"Error": {"Code": "ValidationException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    wrong = Unanswering(waits, 10, ClientError(answer, "Query"))
    with pytest.raises(ClientError, match="ValidationException"):
        waits.asker().ask(wrong.ask)
    assert (wrong.tries, waits.seconds) == (1, [])


@pytest.mark.parametrize("takes_ms", [10, PATIENT.try_seconds * SECOND_MS])
def test_no_request_outlasts_its_invocation_however_many_there_are(takes_ms: int) -> None:
    waits = Waits()
    waits.invocation.ends_at = waits.clock.now() + 20 * SECOND_MS
    unanswering = Unanswering(waits, takes_ms, LOST)
    for _ in range(100):
        with pytest.raises(UnavailableError):
            waits.asker().ask(unanswering.ask)
    assert waits.passed_ms <= 20 * SECOND_MS
    tries = unanswering.tries
    with pytest.raises(UnavailableError, match="no time left"):
        waits.asker().ask(unanswering.ask)
    assert unanswering.tries == tries


@dataclass(frozen=True)
class Left:
    """A context of Lambda with a given remaining time."""

    ms: int

    def get_remaining_time_in_millis(self) -> int:
        return self.ms


def test_a_handler_asks_until_a_second_before_its_invocation_ends_and_the_next_one_starts_anew() -> None:
    asked: list[str] = []

    @in_time
    def handler(event: str, context: Left) -> None:  # noqa: ARG001 - Lambda's signature
        PATIENTLY.ask(lambda: asked.append(event))

    handler("first", Left(9_000))
    for left_ms in (7_900, 500):
        with pytest.raises(UnavailableError, match="no time left"):
            handler("too late", Left(left_ms))
    handler("next", Left(29_000))
    PATIENTLY.ask(lambda: asked.append("no invocation"))
    assert asked == ["first", "next", "no invocation"]


def test_a_message_of_an_unknown_queue_has_no_inbox() -> None:
    with pytest.raises(LookupError):
        wiring.executor_inboxes("arn:aws:sqs:us-east-1:1:other")


def test_a_request_that_might_not_be_answered_within_a_given_time_is_not_sent() -> None:
    asked: list[int] = []
    with within(BRISK.try_seconds - 1), pytest.raises(UnavailableError):
        BRISKLY.ask(lambda: asked.append(1))
    assert asked == []
    BRISKLY.ask(lambda: asked.append(1))
    assert asked == [1]


def test_each_process_draws_its_own_secret_for_due_shards() -> None:
    secrets = set()
    for _ in range(2):
        secrets |= {wiring.engine_context().shard_secret, wiring.executor_context().shard_secret}
        wiring.engine_context.cache_clear()
        wiring.executor_context.cache_clear()
    assert len(secrets) == 4
    assert all(len(secret) >= 16 for secret in secrets)


def test_each_try_that_aws_throttles_is_counted_and_no_other_failure() -> None:
    codes = iter(["ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError", ""])

    def question() -> str:
        if code := next(codes):
            raise ClientError({"Error": {"Code": code}}, "UpdateItem")
        return "done"

    REFUSALS.take()
    assert Waits().asker(PATIENT).ask(question) == "done"
    assert (REFUSALS.take(), REFUSALS.take()) == (2, 0)
