"""How long the functions wait for AWS: an executor has leases to keep meanwhile."""

from collections.abc import Iterator
from typing import Any

import pytest

from timeball.aws import wiring
from timeball.domain.instants import SECOND_MS
from timeball.engine.world import Rules, World

ENVIRONMENT = {
    **{
        f"TIMEBALL_QUEUE_{name}": f"https://sqs.example/1/{name.lower()}"
        for name in ("HIGH", "NORMAL", "LOW", "UNREADABLE")
    },
    "TIMEBALL_JOBS_TABLE": "jobs",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
}
CACHED = (wiring.settings, wiring.world, wiring.executor_world, wiring._sqs, wiring._queue_threads)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for cached in CACHED:
        cached.cache_clear()
    yield
    for cached in CACHED:
        cached.cache_clear()


def _limits(world: World) -> set[tuple[int, int, int]]:
    parts: list[Any] = [world.store, world.queue]
    configs = [part._client.meta.config for part in (parts[0]._writer, parts[0]._reader, parts[1])]
    return {(config.connect_timeout, config.read_timeout, config.retries["total_max_attempts"]) for config in configs}


def test_an_executor_waits_for_less_than_everybody_else() -> None:
    assert _limits(wiring.executor_world()) == {(1, 2, 2)}
    assert _limits(wiring.world()) == _limits(wiring.api_world()) == {(2, 5, 5)}
    assert wiring.executor_inbox("arn:aws:sqs:us-east-1:1:normal")._client is wiring._sqs(wiring.BRISK)


def test_a_renewal_that_is_never_answered_leaves_its_lease_time_for_another() -> None:
    rules, longest_ms = Rules(), wiring.BRISK.longest_seconds * SECOND_MS
    together_and_then_alone_ms = rules.heartbeat_seconds * SECOND_MS + 2 * longest_ms
    assert together_and_then_alone_ms < rules.lease_ms - rules.margin_ms


def test_a_message_of_a_queue_that_is_none_of_ours_has_no_inbox() -> None:
    with pytest.raises(LookupError):
        wiring.executor_inbox("arn:aws:sqs:us-east-1:1:other")
