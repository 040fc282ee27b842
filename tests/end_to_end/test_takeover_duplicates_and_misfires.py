"""Killed executors, a ticker at a standstill and duplicate messages: no run is lost or doubled.

The ticker stands still for 90 s. The tests before its own run during that time, because they need no tick: their jobs
are dispatched when they are submitted, and from then on only the queues and the executors handle them.

The other tests of this folder need ticks. So the tests of this file form a group with its own stage, and run in
parallel to the others.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import ReceivedRequest, Receiver
from tests.end_to_end.emulated import (
    kill,
    messages_in,
    scan_at_a_standstill,
    send_copy,
    start_processes,
)
from tests.end_to_end.steps import are_completed, calls_of, clock, in_time, ledger, soon, until
from timeball.dev.stage import Stage
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

pytestmark = pytest.mark.xdist_group("standstill")

Job = dict[str, Any]
Note = Callable[[str, object], None]

LEASE_SECONDS, MISFIRE_SECONDS, PACE_SECONDS = 30, 60, 1
TAKEOVER_SECONDS = LEASE_SECONDS + 15
LOOKAHEAD_SECONDS = 5
STANDSTILL_SECONDS, FIRST_AFTER_SECONDS = 90, 13


@dataclass(frozen=True)
class Recurring:
    """A recurring job with fires in the standstill: how long after its beginning, and how many it catches up."""

    every_seconds: int
    first_after_seconds: int
    catch_up: dict[str, object]
    caught_up: int


RECURRING = {
    "all": Recurring(2, FIRST_AFTER_SECONDS, {"policy": "all", "maxRuns": 5}, 5),
    "latest": Recurring(15, FIRST_AFTER_SECONDS, {"policy": "latest"}, 1),
    "latest, seldom": Recurring(30, 21, {"policy": "latest"}, 1),
    "skip": Recurring(15, FIRST_AFTER_SECONDS, {"policy": "skip"}, 0),
}
ENDS_AFTER_SECONDS = STANDSTILL_SECONDS + 14
ONE_OFF_AFTER_SECONDS = 15


@dataclass(frozen=True)
class Standstill:
    """A time without ticks, and the jobs due in it. It began at a whole second (ms) or less than a second before."""

    began_at: int
    over_at: Future[int]
    receiver: Receiver
    recurring: dict[str, Job]
    one_off: Job

    def due(self, name: str) -> list[int]:
        """Return the fire times of a recurring job."""
        job = RECURRING[name]
        first_at = self.began_at + job.first_after_seconds * SECOND_MS
        last_at = self.began_at + ENDS_AFTER_SECONDS * SECOND_MS
        return list(range(first_at, last_at, job.every_seconds * SECOND_MS))


@pytest.fixture(scope="module")
def standstill(stage: Stage) -> Iterator[Standstill]:
    client, enough = ApiClient(stage.deployment.api_url, stage.key), Event()
    with Receiver() as receiver, ThreadPoolExecutor(1) as pool, ExitStack() as no_ticks:
        no_ticks.enter_context(scan_at_a_standstill(stage))
        # No job may be due so soon that it is dispatched when it is submitted.
        began_at, recurring, one_off = in_time(
            FIRST_AFTER_SECONDS - LOOKAHEAD_SECONDS, lambda due_at: submitted(client, f"{receiver.url}/ok", due_at)
        )

        def stand_still() -> int:
            enough.wait(STANDSTILL_SECONDS)
            no_ticks.close()
            return clock()

        over_at = pool.submit(stand_still)
        try:
            yield Standstill(began_at, over_at, receiver, recurring, one_off)
        finally:
            enough.set()
            over_at.result()


def submitted(client: ApiClient, hook: str, due_at: str) -> tuple[int, dict[str, Job], Job]:
    """Submit jobs that are due in a standstill, the first of them one look-ahead after an instant.

    Return when the standstill began (ms), the recurring jobs, and the one-off.
    """
    began_at = parse_instant(due_at) - (FIRST_AFTER_SECONDS - LOOKAHEAD_SECONDS) * SECOND_MS

    def after(seconds: int) -> str:
        return format_instant(began_at + seconds * SECOND_MS)

    recurring = {
        name: client.create(
            {
                "handler": hook,
                "name": name,
                "everySeconds": job.every_seconds,
                "anchorAt": after(job.first_after_seconds),
                "startAt": after(job.first_after_seconds),
                "endAt": after(ENDS_AFTER_SECONDS),
                "catchUp": job.catch_up,
            }
        )
        for name, job in RECURRING.items()
    }
    one_off = client.create({"handler": hook, "name": "one-off", "scheduleAt": after(ONE_OFF_AFTER_SECONDS)})
    return began_at, recurring, one_off


@pytest.mark.usefixtures("standstill")
def test_a_run_whose_executor_is_killed_restarts_once_and_soon_and_a_finished_run_does_not(
    stage: Stage, client: ApiClient, receiver: Receiver, record_property: Note
) -> None:
    job = {"scheduleAt": soon(3), "priority": "low"}
    held, quick = (client.create({**job, "handler": f"{receiver.url}{path}"}) for path in ("/slow/20/1", "/ok"))
    # The message of the quick run stays with the executor, which deletes no message before its next heartbeat.
    until(lambda: bool(calls_of(receiver, held)) and are_completed(client, quick))

    kill(stage, "execute-low")
    killed_at = clock()
    # The emulator takes seconds to start a process, and would do so only when the messages come again.
    start_processes(stage, "execute-low", 2)
    until(lambda: are_completed(client, held) and messages_in(stage, "LowQueue") == 0, TAKEOVER_SECONDS + 15)

    first, second = calls_of(receiver, held)
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.run_id == second.run_id
    assert first.at < killed_at < second.at <= killed_at + TAKEOVER_SECONDS * SECOND_MS
    record_property("end to end, seconds from the kill of an executor to the restart", (second.at - killed_at) / 1000)
    (run,) = ledger(client, held)
    assert (run["runId"], run["status"]) == (first.run_id, "succeeded")
    attempts = client.get(f"/v1/runs/{run['runId']}")["attempts"]
    assert [(one["number"], one["outcome"], one["httpStatus"]) for one in attempts] == [
        (1, "lost", None),
        (2, "succeeded", 200),
    ]
    assert [call.attempt for call in calls_of(receiver, quick)] == [1]
    assert [(run["status"], run["attempt"]) for run in ledger(client, quick)] == [("succeeded", 1)]


@pytest.mark.usefixtures("standstill")
def test_a_run_with_duplicate_messages_is_called_once_per_attempt_and_ends_once(
    stage: Stage, client: ApiClient, receiver: Receiver
) -> None:
    once = {"handler": f"{receiver.url}/ok", "scheduleAt": soon(2)}
    often = {"handler": f"{receiver.url}/ok", "everySeconds": 1, "startAt": soon(2), "anchorAt": soon(2), "maxRuns": 1}
    slow = {"handler": f"{receiver.url}/slow/4", "scheduleAt": soon(2)}
    flaky = {
        "handler": f"{receiver.url}/flaky/1",
        "scheduleAt": soon(2),
        "retryPolicy": {"baseSeconds": 5, "jitter": "none"},
    }
    jobs: list[Job] = [client.create(job) for job in (once, often, slow, flaky)]
    runs = [run for job in jobs for run in ledger(client, job)]
    *_, under_way, retried = runs
    assert len(runs) == len(jobs)  # a submit writes one row: the scan dispatches the later fires
    for run in runs:
        send_copy(stage, "NormalQueue", run)
    until(lambda: under_way["runId"] in {call.run_id for call in receiver.arrivals()})
    send_copy(stage, "NormalQueue", under_way)
    until(lambda: has_failed_once(client.get(f"/v1/runs/{retried['runId']}")))
    send_copy(stage, "NormalQueue", retried)
    until(lambda: are_completed(client, *jobs))

    def documents() -> list[Any]:
        return [client.get(f"/v1/runs/{run['runId']}") for run in runs] + [
            client.get(f"/v1/jobs/{job['jobId']}") for job in jobs
        ]

    ended = documents()
    for run in runs:
        send_copy(stage, "NormalQueue", run)
    # A message that met a live run comes again when that run's lease would expire.
    until(lambda: messages_in(stage, "NormalQueue") == 0, 2 * TAKEOVER_SECONDS)

    assert documents() == ended
    calls = Counter((call.run_id, call.attempt) for call in receiver.arrivals())
    assert calls == Counter({(run["runId"], 1): 1 for run in runs} | {(retried["runId"], 2): 1})
    assert [call for call in receiver.arrivals() if call.at < call.fire_at] == []
    for run in ended[: len(runs)]:
        assert run["status"] == "succeeded"
        outcomes = [one["outcome"] for one in run["attempts"]]
        assert outcomes == (["failed", "succeeded"] if run["runId"] == retried["runId"] else ["succeeded"])


def test_each_instant_of_a_ticker_standstill_has_one_row_and_follows_its_catch_up_policy(
    client: ApiClient, standstill: Standstill, record_property: Note
) -> None:
    jobs = [*standstill.recurring.values(), standstill.one_off]
    over_at = standstill.over_at.result(STANDSTILL_SECONDS + 10)
    until(lambda: are_completed(client, *jobs))

    calls = [call for job in jobs for call in calls_of(standstill.receiver, job)]
    assert over_at - standstill.began_at > (STANDSTILL_SECONDS - 2) * SECOND_MS
    assert [call for call in calls if call.at < max(call.fire_at, over_at)] == []
    (row,) = ledger(client, standstill.one_off)
    (call,) = calls_of(standstill.receiver, standstill.one_off)
    assert (row["status"], row["runId"], call.attempt) == ("succeeded", call.run_id, 1)
    for name, job in standstill.recurring.items():
        figures = held_to_policy(
            RECURRING[name], standstill.due(name), ledger(client, job), calls_of(standstill.receiver, job), over_at
        )
        record_property(f"end to end, {STANDSTILL_SECONDS} s without ticks, catch-up {name}", figures)


def has_failed_once(run: dict[str, Any]) -> bool:
    # A message that comes just then claims the retry ahead of its time.
    return bool(run["status"] == "retrying" or run["attempt"] > 1)


def held_to_policy(
    job: Recurring, due: list[int], rows: list[dict[str, Any]], calls: list[ReceivedRequest], over_at: int
) -> str:
    """Assert that each instant has one row, and that only fires that the catch-up policy allows run, at its pace."""
    assert Counter(at for row in rows for at in instants(row, due)) == Counter(due)
    skipped = [row for row in rows if row["status"] == "skipped"]
    assert {row["reason"] for row in skipped} <= {"misfired"}
    assert {row["status"] for row in rows if row not in skipped} == {"succeeded"}
    # Which fires were missed depends on when the scan ran, which is when it wrote the skipped ones.
    judged_at = max((parse_instant(row["finishedAt"]) for row in skipped), default=over_at)
    missed = [at for at in due if at < judged_at - MISFIRE_SECONDS * SECOND_MS]
    passed_over = missed[: max(len(missed) - job.caught_up, 0)]
    assert sorted(at for row in skipped for at in instants(row, due)) == passed_over

    called_at = {call.fire_at: call.at for call in calls}
    assert sorted(call.fire_at for call in calls) == [at for at in due if at not in passed_over]
    caught_up = missed[len(passed_over) :]
    for place, fire_at in enumerate(caught_up):
        assert called_at[fire_at] >= judged_at + place * PACE_SECONDS * SECOND_MS
    return f"{len(due)} due, {len(passed_over)} skipped in {len(skipped)} rows, {len(caught_up)} caught up" + "".join(
        f", {called_at[at] - over_at} ms after it" for at in caught_up[-1:]
    )


def instants(row: dict[str, Any], due: list[int]) -> list[int]:
    """Return the fire times that a row of the ledger covers."""
    first_at, last_at = parse_instant(row["fireTime"]), parse_instant(row["lastFireTime"] or row["fireTime"])
    found = [at for at in due if first_at <= at <= last_at]
    assert (found[0], found[-1], len(found)) == (first_at, last_at, row["count"])
    return found
