"""The fake fair queue: the order of messages while a tenant keeps the executors busy, as AWS documents it."""

from tests.engine.play import NOW, Play
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.testing.memory_queue import NOISY_MESSAGES, MemoryQueue


def _send(queue: MemoryQueue, tenant: str, number: int) -> None:
    ids = [RunId(JobKey(tenant, "job"), NOW + step, Origin.SCHEDULE) for step in range(number)]
    queue.send([Run(one, RunState.QUEUED, 1, "normal", 0, NOW, NOW) for one in ids], NOW)


def _received(queue: MemoryQueue, number: int) -> list[str]:
    return [delivery.run.job.tenant for delivery in queue.receive("normal", number)]


def test_messages_arrive_in_the_order_of_sending_while_no_tenant_keeps_the_executors_busy() -> None:
    queue = Play().queue
    _send(queue, "crowd", 50)
    _send(queue, "other", 2)
    _received(queue, NOISY_MESSAGES - 1)
    assert _received(queue, 3) == ["crowd"] * 3


def test_messages_of_other_tenants_come_before_those_of_a_tenant_with_many_in_flight() -> None:
    queue = Play().queue
    _send(queue, "crowd", 50)
    _send(queue, "other", 2)
    _received(queue, NOISY_MESSAGES)
    assert _received(queue, 3) == ["other", "other", "crowd"]


def test_of_two_busy_tenants_the_one_with_less_in_flight_comes_first() -> None:
    queue = Play().queue
    _send(queue, "first", 60)
    _received(queue, 50)
    _send(queue, "second", 60)
    assert _received(queue, 32) == ["second"] * 32
    assert _received(queue, 1) == ["second"]


def test_a_deleted_message_is_no_longer_in_flight() -> None:
    queue = Play().queue
    _send(queue, "crowd", 50)
    deliveries = queue.receive("normal", NOISY_MESSAGES)
    _send(queue, "other", 1)
    queue.inbox("normal").delete(deliveries[:5])
    assert _received(queue, 1) == ["crowd"]
