"""Many jobs in one request: each has a result, and its index under the batch's Idempotency-Key makes it repeatable."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.domain.model.jobs.job import Job
from timeball.ports.errors import UnavailableError
from timeball.testing.memory_collections import MemoryJobs
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore

GOOD: dict[str, Any] = {"handler": "https://example.com/hook", "everySeconds": 3600}
KEY = {"Idempotency-Key": "import-1"}


def batch(api: Api, jobs: object, **headers: str) -> Answer:
    return api.call("POST", "/v1/jobs:batch", {"jobs": jobs}, headers=headers)


def test_a_hundred_jobs_are_created_each_with_its_answer(api: Api) -> None:
    answer = batch(api, [{**GOOD, "name": f"job {number}"} for number in range(100)])
    assert answer.status == 200
    items = answer.body["items"]
    assert [(item["index"], item["status"], item["job"]["name"]) for item in items] == [
        (number, 201, f"job {number}") for number in range(100)
    ]
    assert len(api.store.jobs) == 100
    single = api.create(everySeconds=3600)
    assert items[0]["job"].keys() == single.keys()


def test_a_bad_item_does_not_affect_the_others(api: Api) -> None:
    bad = [{"everySeconds": 5}, 5, {**GOOD, "unknown": 1}, {**GOOD, "endAt": "2020-01-01T00:00:00Z"}, None]
    answer = batch(api, [GOOD, *bad, GOOD])
    assert [item["status"] for item in answer.body["items"]] == [201, *[400] * len(bad), 201]
    problems = [item["problem"] for item in answer.body["items"][1:-1]]
    assert [[error["field"] for error in problem.get("errors", [])] for problem in problems] == [
        ["handler"], [], ["unknown"], ["endAt"], [],
    ]  # fmt: skip
    assert all("job" not in item for item in answer.body["items"][1:-1])
    assert len(api.store.jobs) == 2


def test_a_repeated_batch_gets_the_same_answers_and_creates_no_second_job(api: Api) -> None:
    first = batch(api, [GOOD, {"handler": 1}, {**GOOD, "name": "b"}], **KEY)
    again = batch(api, [GOOD, {"handler": 1}, {**GOOD, "name": "b"}], **KEY)
    assert again.body == first.body
    assert len(api.store.jobs) == 2


def test_an_item_that_differs_under_the_same_key_is_a_conflict_and_the_others_are_repeated(api: Api) -> None:
    first = batch(api, [GOOD, GOOD], **KEY)
    again = batch(api, [GOOD, {**GOOD, "name": "b"}, GOOD], **KEY)
    assert [item["status"] for item in again.body["items"]] == [201, 422, 201]
    assert again.body["items"][0] == first.body["items"][0]
    assert len(api.store.jobs) == 3


def test_an_item_whose_unique_key_stands_gets_that_job_beside_an_item_that_has_changed(api: Api) -> None:
    unique = {**GOOD, "uniqueKey": "import"}
    api.call("POST", "/v1/jobs", unique)
    first = batch(api, [unique, GOOD], **KEY)
    again = batch(api, [unique, {**GOOD, "name": "b"}], **KEY)
    assert [item["status"] for item in first.body["items"]] == [200, 201]
    assert [item["status"] for item in again.body["items"]] == [200, 422]


def test_a_batchs_idempotency_key_never_names_the_job_of_a_single_requests(api: Api) -> None:
    batch(api, [GOOD], **KEY)
    assert api.call("POST", "/v1/jobs", GOOD, headers=KEY).headers.get("Idempotency-Replayed") is None
    assert len(api.store.jobs) == 2


@pytest.mark.parametrize("jobs", [[], None, [GOOD] * 101, {}, "all"])
def test_an_invalid_batch_is_refused_as_a_whole(api: Api, jobs: object) -> None:
    answer = batch(api, jobs)
    assert (answer.status, answer.bad_fields()) == (400, ["jobs"])
    assert not api.store.jobs


class CountedJobs(MemoryJobs):
    """Jobs that record the number of inserts in each request to the store; while `is_down`, the first insert fails."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.inserted: list[int] = []
        self.is_down = False

    def insert(self, rows: Sequence[Job], now: int) -> list[Job | None]:
        self.inserted.append(len(rows))
        if self.is_down:
            raise UnavailableError("throttled")
        return super().insert(rows, now)


def test_all_jobs_of_a_batch_are_inserted_in_one_request() -> None:
    store = MemoryStore(jobs=CountedJobs)
    assert batch(Api(store), [GOOD] * 100).status == 200
    assert isinstance(store.jobs, CountedJobs)
    assert store.jobs.inserted == [100]


def test_a_batch_that_may_be_half_stored_is_a_503_and_its_repeat_completes_it() -> None:
    store = MemoryStore(jobs=CountedJobs)
    api = Api(store)
    assert isinstance(store.jobs, CountedJobs)
    store.jobs.is_down = True
    assert batch(api, [GOOD, GOOD], **KEY).status == 503
    store.jobs.is_down = False
    assert batch(api, [GOOD, GOOD], **KEY).status == 200
    assert len(store.jobs) == 2


def statuses(answer: Answer) -> list[int]:
    assert answer.status == 200
    return [item["status"] for item in answer.body["items"]]


def test_an_item_with_an_id_is_put_created_then_unchanged_then_replaced(api: Api) -> None:
    first = batch(api, [{**GOOD, "jobId": "a"}, {**GOOD, "jobId": "b"}, GOOD], **KEY)
    assert statuses(first) == [201, 201, 201]
    assert [item["job"]["jobId"] for item in first.body["items"]][:2] == ["a", "b"]
    again = batch(api, [{**GOOD, "jobId": "a"}, {**GOOD, "jobId": "b", "name": "other"}, GOOD], **KEY)
    assert statuses(again) == [200, 200, 201]
    assert [item["job"]["version"] for item in again.body["items"]] == [1, 2, 1]
    assert again.body["items"][1]["job"]["name"] == "other"
    assert len(api.store.jobs) == 3


def test_an_item_answers_as_a_put_of_its_own(api: Api) -> None:
    batch(api, [{**GOOD, "jobId": "a"}])
    api.call("PUT", "/v1/jobs/b", GOOD)
    for body in (GOOD, {**GOOD, "name": "other"}):
        (item,) = batch(api, [{**body, "jobId": "a"}]).body["items"]
        put = api.call("PUT", "/v1/jobs/b", body)
        ours = {"jobId": "b", "consoleUrl": put.body["consoleUrl"]}
        assert (item["status"], {**item["job"], **ours}) == (put.status, put.body)


def test_an_item_begins_the_next_generation_of_an_ended_job(api: Api) -> None:
    batch(api, [{**GOOD, "jobId": "a"}])
    api.call("DELETE", "/v1/jobs/a")
    (item,) = batch(api, [{**GOOD, "jobId": "a"}]).body["items"]
    assert (item["status"], item["job"]["generation"], item["job"]["status"]) == (201, 2, "pending")
    assert statuses(batch(api, [{**GOOD, "jobId": "a"}])) == [200]


def test_problems_of_items_with_ids_are_theirs_alone(api: Api) -> None:
    batch(api, [{**GOOD, "jobId": "a"}])
    bad = [
        {**GOOD, "jobId": "a", "everySeconds": 0},
        {**GOOD, "jobId": "b", "uniqueKey": "b"},
        {**GOOD, "jobId": "x y"},
    ]
    bad.append({**GOOD, "jobId": 5, "ref": "x y"})
    answer = batch(api, [{**GOOD, "jobId": "c"}, *bad, {**GOOD, "jobId": None}])
    assert statuses(answer) == [201, 400, 400, 400, 400, 201]
    fields = [[one["field"] for one in item["problem"]["errors"]] for item in answer.body["items"][1:-1]]
    assert fields == [["everySeconds"], ["uniqueKey"], ["jobId"], ["jobId", "ref"]]
    assert api.call("GET", "/v1/jobs/a").body["version"] == 1


@pytest.mark.parametrize("later", [{"jobId": "a"}, {"ref": "a"}])
def test_the_later_of_two_items_with_one_id_is_refused(api: Api, later: dict[str, str]) -> None:
    for status in (201, 200):
        answer = batch(api, [{**GOOD, "jobId": "a"}, {**GOOD, **later, "name": "other"}])
        assert statuses(answer) == [status, 400]
        (error,) = answer.body["items"][1]["problem"]["errors"]
        assert error["field"] in later
    assert api.call("GET", "/v1/jobs/a").body["name"] is None


def parents(answer: Answer) -> list[list[str]]:
    named = [item["job"]["dependsOn"] for item in answer.body["items"]]
    return [[one["jobId"] if isinstance(one, dict) else one for one in parents] for parents in named]


HOOK = {"handler": "https://example.com/hook"}


def test_items_name_an_item_by_its_id_and_by_its_ref_whether_it_stands_or_not(api: Api) -> None:
    report = {**HOOK, "jobId": "report", "dependsOn": ["clean", "extract"]}
    clean = {**HOOK, "jobId": "clean", "ref": "wash", "dependsOn": ["load"]}
    load = {**GOOD, "jobId": "extract", "ref": "load"}
    check = {**HOOK, "dependsOn": [{"jobId": "wash", "as": "rows"}, "load"]}
    for status in (201, 200):
        answer = batch(api, [report, clean, load, check])
        assert statuses(answer) == [status, status, status, 201]
        assert parents(answer) == [["clean", "extract"], ["extract"], [], ["clean", "extract"]]
        assert [item["job"]["version"] for item in answer.body["items"]] == [1, 1, 1, 1]


def test_a_job_that_stands_gets_parents_that_the_batch_creates_or_replaces(api: Api) -> None:
    batch(api, [{**GOOD, "jobId": "extract"}, {**HOOK, "jobId": "report", "dependsOn": ["extract"]}])
    report = {**HOOK, "jobId": "report", "dependsOn": ["new", "extract"]}
    extract = {**GOOD, "jobId": "extract", "name": "other"}
    answer = batch(api, [report, {**GOOD, "ref": "new"}, extract])
    assert statuses(answer) == [200, 201, 200]
    made = answer.body["items"][1]["job"]["jobId"]
    assert parents(answer) == [[made, "extract"], [], []]


def test_an_item_that_depends_on_a_refused_put_is_refused(api: Api) -> None:
    batch(api, [{**GOOD, "jobId": "a"}, {**GOOD, "jobId": "b"}])
    bad = {"jobId": "a", "ref": "first", "handler": 5}
    by_ids = [{**HOOK, "dependsOn": [name]} for name in ("a", "first")]
    answer = batch(api, [bad, *by_ids, {**HOOK, "jobId": "b", "dependsOn": ["first"]}, {**HOOK, "jobId": "c"}])
    assert statuses(answer) == [400, 400, 400, 400, 201]
    for item in answer.body["items"][1:4]:
        assert item["problem"]["errors"][0]["field"] == "dependsOn.0"
        assert "was refused" in item["problem"]["errors"][0]["message"]


@pytest.mark.parametrize("standing", [("a", "b"), ("a",), ("b",), ()])
def test_a_circle_of_items_with_ids_changes_none_of_them(api: Api, standing: tuple[str, ...]) -> None:
    batch(api, [{**GOOD, "jobId": "other"}, *[{**HOOK, "jobId": one, "dependsOn": ["other"]} for one in standing]])
    before = repr(api.store.jobs)
    circle = [{**HOOK, "jobId": "a", "dependsOn": ["b"]}, {**HOOK, "jobId": "b", "dependsOn": ["a"]}]
    assert statuses(batch(api, circle)) == [400, 400]
    assert repr(api.store.jobs) == before


def test_a_bounded_key_puts_only_jobs_within_its_tags(api: Api) -> None:
    blue, red = {"team": "blue"}, {"team": "red"}
    batch(api, [{**GOOD, "jobId": "red", "tags": red}, {**GOOD, "jobId": "blue", "tags": blue}])
    jobs = [{**GOOD, "jobId": name, "name": "other", "tags": blue} for name in ("red", "blue", "new")]
    outside = [{**GOOD, "jobId": "other", "tags": red}, {**HOOK, "tags": blue, "dependsOn": ["red"]}]
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": [*jobs, *outside]}, bounds=blue)
    assert statuses(answer) == [404, 200, 201, 403, 400]
    assert api.call("GET", "/v1/jobs/red").body["name"] is None


def test_jobs_with_new_ids_are_inserted_in_one_request() -> None:
    store = MemoryStore(jobs=CountedJobs)
    assert statuses(batch(Api(store), [{**GOOD, "jobId": f"job-{number}"} for number in range(50)])) == [201] * 50
    assert isinstance(store.jobs, CountedJobs)
    assert store.jobs.inserted == [50]
