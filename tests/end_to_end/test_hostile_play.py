"""Bugs that hostile users of the HTTP API once found, tested again on the real template.

Each rule also has tests beside its code. These tests show it from outside, as a user sees it.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from statistics import median
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import are_completed, ask, calls_of, clock, ledger, soon, until
from timeball.domain.time.instants import SECOND_MS, parse_instant

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.more]

_PAUSED_SECONDS = 12


def test_a_pause_of_seconds_is_not_followed_by_a_flood_of_calls(client: ApiClient, receiver: Receiver) -> None:
    hook = {"handler": f"{receiver.url}/ok", "everySeconds": 1, "catchUp": {"policy": "skip"}}
    job = client.create(hook)
    path = f"/v1/jobs/{job['jobId']}"
    until(lambda: bool(calls_of(receiver, job)))
    ask(client, "POST", f"{path}/pause")
    paused_at = clock()
    until(lambda: clock() > paused_at + _PAUSED_SECONDS * SECOND_MS)
    ask(client, "POST", f"{path}/resume")
    resumed_at = clock()
    until(lambda: len([call for call in calls_of(receiver, job) if call.at > resumed_at]) >= 4)
    client.cancel(job["jobId"])
    fires = {call.fire_at for call in calls_of(receiver, job)}
    missed = [at for at in fires if paused_at + SECOND_MS < at < resumed_at - SECOND_MS]
    assert not missed
    skipped = [run for run in ledger(client, job) if run["status"] == "skipped"]
    assert sum(run.get("count") or 1 for run in skipped) >= _PAUSED_SECONDS - 3


def test_repeated_triggers_are_collected_into_one_run(client: ApiClient, receiver: Receiver) -> None:
    hook = {"handler": f"{receiver.url}/ok", "cronExpression": "0 0 1 1 *"}
    job = client.create({**hook, "debounceSeconds": 4, "debounceMaxSeconds": 600})
    begun_at = clock()
    triggers = 0
    while clock() < begun_at + 12 * SECOND_MS:
        ask(client, "POST", f"/v1/jobs/{job['jobId']}/trigger", {"payload": {"number": triggers}})
        triggers += 1
    ended_at = clock()
    until(lambda: [run["status"] for run in ledger(client, job)] == ["succeeded"])
    (call,) = calls_of(receiver, job)
    assert call.at >= ended_at + 3 * SECOND_MS
    assert json.loads(call.body) == {"number": triggers - 1}


def test_a_listing_has_each_job_once_while_jobs_are_paused_and_resumed(client: ApiClient, receiver: Receiver) -> None:
    tag = f"listing-{clock()}"
    hook = {"handler": f"{receiver.url}/ok", "cronExpression": "0 0 1 1 *", "tags": {"test": tag}}
    items = ask(client, "POST", "/v1/jobs:batch", {"jobs": [hook] * 30})["items"]
    ids = sorted(item["job"]["jobId"] for item in items)

    def toggle(number: int) -> None:
        for turn in range(6):
            verb = "pause" if turn % 2 == 0 else "resume"
            ask(client, "POST", f"/v1/jobs/{ids[number]}/{verb}")

    with ThreadPoolExecutor(4) as pool:
        toggling = [pool.submit(toggle, number) for number in range(0, 30, 3)]
        listings = 0
        while not all(one.done() for one in toggling) or listings < 5:
            assert sorted(_listed(client, f"tag=test:{tag}&limit=7")) == ids
            listings += 1
        for one in toggling:
            one.result()


def _listed(client: ApiClient, query: str) -> list[str]:
    found, cursor = list[str](), ""
    while True:
        page = client.get(f"/v1/jobs?{query}" + (f"&cursor={cursor}" if cursor else ""))
        found += [job["jobId"] for job in page["items"]]
        cursor = page["nextCursor"]
        if not cursor:
            return found


def test_two_writers_of_one_version_never_both_succeed(client: ApiClient, receiver: Receiver) -> None:
    hook = {"handler": f"{receiver.url}/ok", "cronExpression": "0 0 1 1 *", "payload": {"count": 0}}
    job = client.create(hook)
    path, each = f"/v1/jobs/{job['jobId']}", 15

    def add(_: int) -> None:
        added = 0
        while added < each:
            read = client.send("GET", path)
            after = json.dumps({"payload": {"count": read.body["payload"]["count"] + 1}}).encode()
            added += client.send("PATCH", path, after, if_match=read.headers["etag"]).status == 200

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, range(2)))
    assert client.get(path)["payload"] == {"count": 2 * each}


def test_a_listing_by_two_tags_has_only_jobs_with_both(client: ApiClient, receiver: Receiver) -> None:
    tag = f"both-{clock()}"
    hook = {"handler": f"{receiver.url}/ok", "cronExpression": "0 0 1 1 *"}
    both = client.create({**hook, "tags": {"a": tag, "b": "2"}})
    client.create({**hook, "tags": {"a": tag, "b": "3"}})
    assert _listed(client, f"tag=a:{tag}&tag=b:2") == [both["jobId"]]
    refused = client.send("POST", "/v1/jobs", json.dumps({**hook, "tags": {"a:b": "1"}}).encode())
    assert refused.status == 400
    assert [error["field"] for error in refused.body["errors"]] == ["tags.a:b"], refused.text


def test_an_empty_cursor_is_the_first_page_and_any_other_empty_parameter_is_refused(client: ApiClient) -> None:
    assert client.send("GET", "/v1/jobs?cursor=").status == 200
    for name in ("status", "tag", "limit", "taskId"):
        assert client.send("GET", f"/v1/jobs?{name}=").status == 400, name


def test_the_idempotency_key_of_a_batch_covers_each_item_by_its_index(client: ApiClient, receiver: Receiver) -> None:
    hook = {"handler": f"{receiver.url}/ok", "cronExpression": "0 0 1 1 *"}
    jobs = [{**hook, "name": name} for name in "abc"]
    key = f"batch-{clock()}"

    def send() -> list[dict[str, Any]]:
        answer = client.send("POST", "/v1/jobs:batch", json.dumps({"jobs": jobs}).encode(), idempotency_key=key)
        items: list[dict[str, Any]] = answer.body["items"]
        return items

    first = send()
    assert [item["status"] for item in first] == [201] * 3
    jobs[1]["name"] = "changed"
    again = send()
    assert again[1]["status"] == 422
    assert {again[0]["status"], again[2]["status"]} <= {200, 201}
    assert [again[index]["job"]["jobId"] for index in (0, 2)] == [first[index]["job"]["jobId"] for index in (0, 2)]


def test_the_lateness_of_a_child_leaves_out_the_wait_for_its_parent(client: ApiClient, receiver: Receiver) -> None:
    jobs = [
        {"handler": f"{receiver.url}/slow/6", "ref": "parent"},
        {"handler": f"{receiver.url}/ok", "ref": "child", "dependsOn": ["parent"]},
    ]
    parent, child = (item["job"] for item in ask(client, "POST", "/v1/jobs:batch", {"jobs": jobs})["items"])
    until(lambda: are_completed(client, parent, child))
    run = client.get(f"/v1/runs/{ledger(client, child)[0]['runId']}")
    assert run["lateness"] < 3, run
    assert run["waits"]["parents"] > 4, run


def test_timeouts_of_one_path_do_not_block_other_paths_of_its_host(client: ApiClient, receiver: Receiver) -> None:
    slow = {"handler": f"{receiver.url}/slow/20", "timeoutSeconds": 1, "maxRetries": 0}
    timed_out = [item["job"] for item in ask(client, "POST", "/v1/jobs:batch", {"jobs": [slow] * 8})["items"]]

    def failed() -> bool:
        return all(client.get(f"/v1/jobs/{job['jobId']}")["status"] == "failed" for job in timed_out)

    until(failed, 120, otherwise="the time-outs are not failures")
    other = client.create({"handler": f"{receiver.url}/ok", "scheduleAt": soon(4)})
    until(lambda: are_completed(client, other))
    (call,) = calls_of(receiver, other)
    assert call.at - call.fire_at < 2 * SECOND_MS


def test_jobs_that_swap_their_parents_stop_writing_after_a_parent_fails(client: ApiClient, receiver: Receiver) -> None:
    """Two jobs that each waited for the other for a moment write no more after their parents have ended."""
    dead = client.create({"handler": f"{receiver.url}/status/400", "maxRetries": 0, "delaySeconds": 8})
    far = {"handler": f"{receiver.url}/ok", "dependsOn": [dead["jobId"]]}
    first = client.create(far)
    second = client.create({**far, "dependsOn": [dead["jobId"], first["jobId"]]})
    for job, parents in ((second, [dead]), (first, [dead, second])):
        body = {"dependsOn": [parent["jobId"] for parent in parents]}
        ask(client, "PATCH", f"/v1/jobs/{job['jobId']}", body)
    paths = [f"/v1/jobs/{job['jobId']}" for job in (first, second)]
    until(lambda: [client.get(path)["status"] for path in paths] == ["blocked"] * 2)
    (run,) = ledger(client, dead)
    ask(client, "POST", f"/v1/runs/{run['runId']}/succeed", {"reason": "mended"})
    until(lambda: are_completed(client, first, second))


def test_a_job_of_each_second_starts_at_its_instant(client: ApiClient, receiver: Receiver) -> None:
    job = client.create({"handler": f"{receiver.url}/ok", "everySeconds": 1, "maxRuns": 10})
    until(lambda: are_completed(client, job))
    calls = calls_of(receiver, job)
    assert [later.fire_at - earlier.fire_at for earlier, later in pairwise(calls)] == [SECOND_MS] * 9
    assert all(call.at >= call.fire_at for call in calls)
    assert median(call.at - call.fire_at for call in calls) < SECOND_MS
    assert parse_instant(job["nextRunAt"]) <= calls[0].fire_at
