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
