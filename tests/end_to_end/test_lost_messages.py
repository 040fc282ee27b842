"""A run whose message is lost starts within a minute: its executor died before hiding it, or a purge deleted it."""

from collections.abc import Callable
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.emulated import messages_in, no_executor, purge, receive_and_die
from tests.end_to_end.steps import are_completed, calls_of, until
from timeball.dev.stage import Stage
from timeball.domain.time.instants import MINUTE_MS

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_run_whose_message_is_lost_is_called_within_a_minute_and_once(
    stage: Stage, client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    def submitted() -> dict[str, Any]:
        job: dict[str, Any] = client.create(
            {"target": {"type": "http", "url": f"{receiver.url}/ok"}, "priority": "low"}
        )
        until(lambda: messages_in(stage, "LowQueue") > 0)
        return job

    with no_executor(stage, "execute-low"):
        received = submitted()
        until(lambda: receive_and_die(stage, "LowQueue") == 1)
        purged = submitted()
        purge(stage, "LowQueue")
        until(lambda: messages_in(stage, "LowQueue") == 0)
    until(lambda: are_completed(client, received, purged), within_seconds=90)
    for what, job in (("received", received), ("purged", purged)):
        (call,) = calls_of(receiver, job)
        late_ms = call.at - call.fire_at
        record_property(f"late_when_{what}", f"{late_ms} ms")
        assert late_ms < MINUTE_MS
