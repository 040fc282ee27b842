"""Jobs that are paused, resumed, rescheduled, triggered and backfilled, as their target sees them."""

import json
from typing import Any

import pytest

from local.demo_client import ApiAnswer, ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, calls_of, in_time, ledger, until
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_job_paused_or_rescheduled_inside_the_look_ahead_is_not_called_then_and_once_later(
    client: ApiClient, receiver: Receiver
) -> None:
    hook = f"{receiver.url}/ok"

    def pause_and_move(due_at: str) -> tuple[dict[str, Any], dict[str, Any], ApiAnswer, ApiAnswer]:
        # Jobs due within the look-ahead are in a queue before the answer.
        paused, moved = (client.create({"handler": hook, "name": name, "scheduleAt": due_at}) for name in "pm")
        change = json.dumps({"scheduleAt": three_seconds_after(due_at), "payload": {"moved": True}}).encode()
        return (
            paused,
            moved,
            client.send("POST", f"/v1/jobs/{paused['jobId']}/pause"),
            client.send("PATCH", f"/v1/jobs/{moved['jobId']}", change),
        )

    paused, moved, pause, patch = in_time(4, pause_and_move)
    due_at = paused["scheduleAt"]
    later_at = three_seconds_after(due_at)
    assert (pause.status, pause.body["status"], pause.body["claimedRuns"]) == (200, "paused", [])
    assert (patch.status, patch.body["nextRunAt"], patch.body["version"]) == (200, later_at, 2)
    assert patch.body["claimedRuns"] == []
    trace = client.create({"handler": hook, "name": "w", "scheduleAt": due_at})

    until(lambda: bool(calls_of(receiver, trace)) and bool(calls_of(receiver, moved)))
    assert calls_of(receiver, paused) == []
    (withdrawn,) = ledger(client, paused)
    assert (withdrawn["status"], withdrawn["attempt"], withdrawn["fireTime"]) == ("withdrawn", 0, due_at)
    resumed = ask(client, "POST", f"/v1/jobs/{paused['jobId']}/resume", {})
    # Its run is sent before the answer, and may be over by then.
    assert (resumed["status"] in {"pending", "running", "completed"}, resumed["version"]) == (True, 3)
    paths = [f"/v1/jobs/{job['jobId']}" for job in (paused, moved)]
    until(lambda: all(client.get(path)["status"] == "completed" for path in paths))

    (call,) = calls_of(receiver, paused)
    assert (call.fire_at, call.attempt) == (parse_instant(due_at), 1)
    assert [run["status"] for run in ledger(client, paused)] == ["succeeded"]
    (call,) = calls_of(receiver, moved)
    assert (call.fire_at, json.loads(call.body)) == (parse_instant(later_at), {"moved": True})
    assert call.at >= call.fire_at
    rows = [(run["fireTime"], run["status"], run["reason"]) for run in ledger(client, moved)]
    assert rows == [(later_at, "succeeded", None), (due_at, "skipped", "superseded")]


def three_seconds_after(instant: str) -> str:
    return format_instant(parse_instant(instant) + 3 * SECOND_MS)


def test_a_paused_job_runs_manually_and_in_a_backfill_but_not_by_its_schedule(
    client: ApiClient, receiver: Receiver
) -> None:
    job = client.create({"handler": f"{receiver.url}/ok", "cronExpression": "0 * * * *", "payload": {"by": "schedule"}})
    path = f"/v1/jobs/{job['jobId']}"
    ask(client, "POST", f"{path}/pause")
    by_hand = ask(client, "POST", f"{path}/trigger", {"payload": {"by": "hand"}})
    past = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T03:00:00Z", "paceSeconds": 1}
    dry = ask(client, "POST", f"{path}/backfills", {**past, "dryRun": True})
    backfill = ask(client, "POST", f"{path}/backfills", past)
    assert (backfill["total"], backfill["status"]) == (3, "running")

    # A call arrives before its run's end is written.
    until(lambda: [run["status"] for run in ledger(client, job)] == ["succeeded"] * 4)
    # A backfill's end is written after its last run was sent.
    until(lambda: client.get(f"{path}/backfills/{backfill['backfillId']}")["status"] == "completed")

    calls = {call.run_id: call for call in calls_of(receiver, job)}
    assert len(calls) == len(calls_of(receiver, job)) == 4
    assert json.loads(calls[by_hand["runId"]].body) == {"by": "hand"}
    assert by_hand["origin"] == "manual"
    rows = [run for run in ledger(client, job) if run["backfillId"] == backfill["backfillId"]]
    assert sorted(run["fireTime"] for run in rows) == dry["instants"]
    for run in rows:
        call = calls[run["runId"]]
        assert (call.fire_at, json.loads(call.body)) == (parse_instant(run["fireTime"]), {"by": "schedule"})
    stands = client.get(f"{path}/backfills/{backfill['backfillId']}")
    assert (stands["status"], stands["started"], stands["remaining"]) == ("completed", 3, 0)
    assert client.get(f"{path}/backfills")["items"] == [stands]
    assert client.get(path)["status"] == "paused"
    assert client.cancel(job["jobId"]).body["status"] == "cancelled"
