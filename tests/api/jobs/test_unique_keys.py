"""A unique key stands for one job, for a while or until the job is over, even if many clients submit at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import SECOND_MS

HOOK = "https://example.com/hook"
KEYED = {"handler": HOOK, "uniqueKey": "invoice 7", "delaySeconds": 600}


def submit(api: Api, **fields: Any) -> Answer:
    return api.call("POST", "/v1/jobs", {**KEYED, **fields})


def batch(api: Api, *jobs: dict[str, Any]) -> list[dict[str, Any]]:
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": jobs})
    assert answer.status == 200, answer.text
    items: list[dict[str, Any]] = answer.body["items"]
    return items


def test_a_second_submit_is_answered_with_the_first_job_as_it_stands(api: Api) -> None:
    first = submit(api, payload={"n": 1})
    assert (first.status, first.body["uniqueKey"], first.body["uniqueSeconds"]) == (201, "invoice 7", None)
    api.call("PATCH", f"/v1/jobs/{first.body['jobId']}", {"name": "seven"})
    again = submit(api, payload={"n": 2}, delaySeconds=5)
    assert (again.status, again.headers["ETag"]) == (200, '"2"')
    assert (again.body["jobId"], again.body["name"], again.body["payload"]) == (first.body["jobId"], "seven", {"n": 1})
    assert again.body == api.call("GET", f"/v1/jobs/{first.body['jobId']}").body
    assert len(api.store.jobs) == 1


def test_only_one_of_fifty_simultaneous_submits_makes_the_job(api: Api) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: submit(api, payload=n), range(50)))
    assert sorted(answer.status for answer in answers) == [200] * 49 + [201]
    assert len({answer.body["jobId"] for answer in answers}) == len(api.store.jobs) == 1


def test_only_one_of_fifty_simultaneous_submits_after_the_window_makes_the_next_job(api: Api) -> None:
    submit(api, uniqueSeconds=60)
    api.clock.advance(60 * SECOND_MS)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: submit(api, uniqueSeconds=60), range(50)))
    assert sorted(answer.status for answer in answers) == [200] * 49 + [201]
    assert len(api.store.jobs) == 2


# Each case: how long the key stands, the status of the job, after how many seconds, and whether the key still stands.
CASES: dict[str, tuple[dict[str, int], str | None, int, bool]] = {
    "within the window": ({"uniqueSeconds": 60}, None, 59, True),
    "behind it, though the job is not over": ({"uniqueSeconds": 60}, None, 60, False),
    "within the window, though the job is over": ({"uniqueSeconds": 60}, "completed", 30, True),
    "within the window, but cancelled": ({"uniqueSeconds": 60}, "cancelled", 30, False),
    "as long as the job is open": ({}, None, 10**6, True),
    "as long as the job is paused": ({}, "paused", 30, True),
    "until the job is over": ({}, "completed", 30, False),
    "until the job has failed": ({}, "failed", 30, False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_key_stands_for_its_window_or_until_its_job_is_over(api: Api, case: str) -> None:
    fields, status, seconds, stands = CASES[case]
    first = submit(api, **fields)
    job_id = first.body["jobId"]
    if status == "cancelled":
        api.call("DELETE", f"/v1/jobs/{job_id}")
    elif status == "paused":
        api.call("POST", f"/v1/jobs/{job_id}/pause")
    elif status is not None:
        key = JobKey("acme", job_id)
        api.store.jobs[key] = evolve(api.store.jobs[key], status=JobStatus(status))
    api.clock.advance(seconds * SECOND_MS)
    again = submit(api)
    assert (again.status, again.body["jobId"] == job_id) == ((200, True) if stands else (201, False))


def test_the_window_of_the_first_submit_counts(api: Api) -> None:
    submit(api, uniqueSeconds=10)
    assert submit(api, uniqueSeconds=1_000).status == 200
    api.clock.advance(10 * SECOND_MS)
    assert submit(api).status == 201


def test_each_tenant_has_its_own_unique_keys(api: Api) -> None:
    assert submit(api).status == 201
    assert api.call("POST", "/v1/jobs", KEYED, tenant="globex").status == 201


def test_a_bounded_key_that_cannot_see_the_standing_job_is_refused_without_its_name(api: Api) -> None:
    submit(api, tags={"team": "a"})
    answer = api.call("POST", "/v1/jobs", {**KEYED, "tags": {"team": "b"}}, bounds={"team": "b"})
    assert answer.status == 403
    assert "choose another" in answer.body["detail"]


def test_a_key_that_names_a_job_that_was_never_stored_stores_the_job_under_that_id(api: Api) -> None:
    named = submit(api).body["jobId"]
    del api.store.jobs[JobKey("acme", named)]
    again = submit(api, payload=2)
    assert (again.status, again.body["jobId"]) == (201, named)
    assert submit(api).body["payload"] == 2


def test_an_idempotent_repeat_returns_its_own_job_whatever_the_unique_key_stands_for(api: Api) -> None:
    body, once = {**KEYED, "uniqueSeconds": 10}, {"Idempotency-Key": "once"}
    first = api.call("POST", "/v1/jobs", body, headers=once)
    api.clock.advance(10 * SECOND_MS)
    other = api.call("POST", "/v1/jobs", body)
    again = api.call("POST", "/v1/jobs", body, headers=once)
    assert (first.status, other.status, again.status) == (201, 201, 201)
    assert again.body["jobId"] == first.body["jobId"] != other.body["jobId"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert api.call("POST", "/v1/jobs", KEYED).body["jobId"] == other.body["jobId"]
    met = api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": "another"})
    assert (met.status, met.body["jobId"]) == (200, other.body["jobId"])


def test_each_item_of_a_batch_is_decided_by_itself(api: Api) -> None:
    stood = submit(api, uniqueKey="stood").body["jobId"]
    items = batch(
        api,
        {**KEYED, "uniqueKey": "stood"},
        {**KEYED, "payload": 1},
        {"handler": HOOK},
        {**KEYED, "payload": 2},
        {**KEYED, "uniqueKey": "bad", "timeoutSeconds": 0},
        {**KEYED, "uniqueKey": "bad"},
    )
    assert [item["status"] for item in items] == [200, 201, 201, 200, 400, 201]
    assert items[0]["job"]["jobId"] == stood
    assert (items[3]["job"]["jobId"], items[3]["job"]["payload"]) == (items[1]["job"]["jobId"], 1)


def test_in_a_batch_a_ref_means_the_job_that_stands_for_the_key(api: Api) -> None:
    stood = submit(api).body["jobId"]
    _, child = batch(api, {**KEYED, "ref": "parent"}, {"handler": HOOK, "dependsOn": ["parent"]})
    assert child["job"]["dependsOn"] == [stood]


REFUSED: dict[str, tuple[str, dict[str, object], str]] = {
    "a window without a key": ("POST", {"uniqueSeconds": 5}, "uniqueSeconds"),
    "a window that is too long": ("POST", {"uniqueKey": "k", "uniqueSeconds": 2_592_001}, "uniqueSeconds"),
    "no window": ("POST", {"uniqueKey": "k", "uniqueSeconds": 0}, "uniqueSeconds"),
    "an empty key": ("POST", {"uniqueKey": ""}, "uniqueKey"),
    "a key with a control character": ("POST", {"uniqueKey": "a\nb"}, "uniqueKey"),
    "a key beside an id": ("PUT", {"uniqueKey": "k"}, "uniqueKey"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_unique_key_is_refused(api: Api, case: str) -> None:
    method, fields, field = REFUSED[case]
    answer = api.call(method, "/v1/jobs" + ("/mine" if method == "PUT" else ""), {"handler": HOOK, **fields})
    assert (answer.status, answer.bad_fields()) == (400, [field])
    assert not api.store.jobs


def test_a_job_shows_the_key_under_which_it_was_submitted(api: Api) -> None:
    job = submit(api, uniqueSeconds=60).body
    path = f"/v1/jobs/{job['jobId']}"
    for patch in ({"uniqueKey": "other"}, {"uniqueKey": None, "uniqueSeconds": None}, {"uniqueSeconds": 5}):
        answer = api.call("PATCH", path, patch)
        assert (answer.status, set(answer.bad_fields()) <= {"uniqueKey", "uniqueSeconds"}) == (400, True), patch
    assert api.call("PATCH", path, {"name": "n", "uniqueKey": "invoice 7"}).body["uniqueKey"] == "invoice 7"
    assert api.call("PUT", path, {"handler": HOOK, "delaySeconds": 9}).body["uniqueKey"] == "invoice 7"
    same = {"handler": HOOK, "delaySeconds": 5, "uniqueKey": "invoice 7", "uniqueSeconds": 60}
    assert api.call("PUT", path, same).status == 200
    assert api.call("PUT", path, {**same, "uniqueKey": "other"}).bad_fields() == ["uniqueKey"]


def test_a_list_shows_the_start_that_a_collecting_job_has_put_off(api: Api) -> None:
    collecting = {"handler": HOOK, "uniqueKey": "cart", "debounceSeconds": 60}
    first = api.call("POST", "/v1/jobs", collecting).body
    api.clock.advance(30 * SECOND_MS)
    api.call("POST", "/v1/jobs", collecting)
    (listed,) = api.call("GET", "/v1/jobs").body["items"]
    read = api.call("GET", f"/v1/jobs/{first['jobId']}").body
    assert listed["nextRunAt"] == read["nextRunAt"] > first["nextRunAt"]
    assert listed["nextRuns"] == [listed["nextRunAt"]]
