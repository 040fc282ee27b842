"""A thousand jobs that wait for one parent: how long after its end the last of them is sent to the executors."""

from collections import Counter
from collections.abc import Callable

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.emulated import busy_seconds, messages_in, no_executor, processes_of
from tests.end_to_end.steps import ask, clock, ledger, until
from timeball.dev.stage import Stage
from timeball.domain.time.instants import SECOND_MS, parse_instant

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.alone, pytest.mark.more]

CHILDREN, TOGETHER = 1_000, 50
WITHIN_SECONDS = 5
LOOK_EACH_MS = 400
"""Polling keeps the emulator busy, too."""


def test_a_thousand_children_are_sent_within_five_seconds_of_their_parents_end(
    stage: Stage, client: ApiClient, receiver: Receiver, record_property: Callable[[str, object], None]
) -> None:
    """The children's executor receives nothing meanwhile: a thousand runs would keep the emulator busy for longer.

    On a machine with other work the bound applies to the processor time of the emulator and the scan, as if they ran
    one after the other, plus a second's wait for the tick.
    """
    parent = client.create({"handler": f"{receiver.url}/ok", "delaySeconds": 86_400, "priority": "high"})
    child = {"handler": f"{receiver.url}/ok", "dependsOn": [parent["jobId"]]}
    children: set[str] = set()
    for _ in range(CHILDREN // TOGETHER):
        made = ask(client, "POST", "/v1/jobs:batch", {"jobs": [child] * TOGETHER})
        children |= {item["job"]["jobId"] for item in made["items"]}
    sent_at: dict[int, int] = {}
    with no_executor(stage, "execute-normal"):
        before = messages_in(stage, "NormalQueue")

        def all_are_sent() -> bool:
            if clock() < max(sent_at.values(), default=0) + LOOK_EACH_MS:
                return False
            sent = messages_in(stage, "NormalQueue") - before
            sent_at[sent] = clock()
            return sent >= CHILDREN

        ask(client, "PATCH", f"/v1/jobs/{parent['jobId']}", {"delaySeconds": 1})
        scans = processes_of(stage, "scan")
        begun = busy_seconds([stage.emulator.pid]), busy_seconds(scans)
        until(all_are_sent, otherwise="not all were sent")
        emulator, scan = busy_seconds([stage.emulator.pid]) - begun[0], busy_seconds(scans) - begun[1]
    ended_at = parse_instant(ledger(client, parent)[0]["finishedAt"])
    seconds = (sent_at[max(sent_at)] - ended_at) / SECOND_MS
    figures = f"{seconds:.1f} s; on a processor meanwhile: the emulator {emulator:.1f} s, the scan {scan:.1f} s"
    record_property(f"end to end, {CHILDREN} children, from their parent's end to the last one's send", figures)

    def calls() -> Counter[str]:
        return Counter(one.job_id for one in receiver.arrivals() if one.job_id in children)

    until(lambda: len(calls()) == CHILDREN, 240, otherwise="not all were called")
    assert calls().total() == CHILDREN
    assert min(seconds, 1 + emulator + scan) <= WITHIN_SECONDS
