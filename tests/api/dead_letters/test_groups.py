"""Dead letters by their fingerprints: groups with counts, and what is done with a whole group."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.dead_letters.calls import deal, every_verb, listed, on_and_on
from tests.api.runs.rows import dead
from timeball.domain.time.instants import SECOND_MS, format_instant

GROUPS = "/v1/dead-letters:groups"


def died_of(api: Api, job: dict[str, Any], second: int, error: str | None) -> str:
    """Store a dead letter with an error."""
    run = dead(api, job, second)
    assert run.last is not None
    api.put(replace(run, last=replace(run.last, error=error)))
    return str(run.id)


def groups(api: Api, **query: Any) -> list[Any]:
    items: list[Any] = api.call("GET", GROUPS, query=query).body["items"]
    return items


@pytest.fixture
def two(api: Api, job: dict[str, Any]) -> dict[str, Any]:
    """Three dead letters of one error, and one of another."""
    for second in (-40, -30, -10):
        died_of(api, job, second, f"no customer {second}")
    died_of(api, job, -20, "the shop is closed")
    return job


def test_dead_letters_of_one_job_and_one_error_are_a_group(api: Api, two: dict[str, Any]) -> None:
    died_of(api, api.create(everySeconds=60), -50, "no customer 5")  # another job's
    found = groups(api)
    assert [(one["error"], one["count"]) for one in found] == [
        ("no customer -10", 3),  # the newest one's error
        ("the shop is closed", 1),
        ("no customer 5", 1),
    ]
    first = found[0]
    assert first["jobId"] == two["jobId"]
    newest, oldest = (run["diedAt"] for run in api.call("GET", "/v1/dead-letters").body["items"][0:4:3])
    assert (first["firstAt"], first["lastAt"]) == (oldest, newest)
    assert len({one["fingerprint"] for one in found}) == 3


def test_a_run_without_an_error_counts_with_its_reason(api: Api, job: dict[str, Any]) -> None:
    died_of(api, job, -10, None)
    (one,) = groups(api)
    assert one["error"] == api.call("GET", "/v1/dead-letters").body["items"][0]["reason"]


def test_pages_of_groups_count_each_dead_letter_once(api: Api, job: dict[str, Any]) -> None:
    for second in range(-30, 0):
        died_of(api, job, second, ("red", "green", "blue")[second % 3])
    counts: dict[str, int] = {}
    query: dict[str, str] = {"limit": "2"}
    while True:
        page = api.call("GET", GROUPS, query=query).body
        assert len(page["items"]) <= 2
        for one in page["items"]:
            counts[one["error"]] = counts.get(one["error"], 0) + one["count"]
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]
    assert counts == {"red": 10, "green": 10, "blue": 10}


def test_groups_take_the_filters_of_the_list_and_the_list_takes_a_group(api: Api, two: dict[str, Any]) -> None:
    (shop,) = groups(api, error="shop")
    assert shop["count"] == 1
    assert groups(api, **{"from": format_instant(NOW + SECOND_MS)}) == []
    found = api.call("GET", "/v1/dead-letters", query={"fingerprint": shop["fingerprint"]}).body["items"]
    assert [one["error"] for one in found] == ["the shop is closed"]
    assert two["jobId"] == found[0]["jobId"]


@every_verb
def test_a_whole_group_is_replayed_or_discarded_and_no_other(api: Api, two: dict[str, Any], verb: str) -> None:
    fingerprint = next(one["fingerprint"] for one in groups(api) if one["count"] == 3)
    answers = on_and_on(api, verb, fingerprint=fingerprint, limit=2)
    assert sum(one["done"] for one in answers) == 3
    (left,) = groups(api)
    assert left["error"] == "the shop is closed"
    assert len(listed(api)) == 1
    assert two["jobId"]


@every_verb
@pytest.mark.parametrize("fingerprint", ["0123456789abcdef", "nope", "../x"])
def test_an_unknown_fingerprint_is_a_404_that_changes_nothing(
    api: Api, two: dict[str, Any], verb: str, fingerprint: str
) -> None:
    before = dict(api.store.runs)
    answer = deal(api, verb, fingerprint=fingerprint)
    assert (answer.status, dict(api.store.runs)) == (404, before)
    known = groups(api)[0]["fingerprint"]
    assert deal(api, verb, tenant="globex", fingerprint=known).status == 404
    assert two["jobId"]


def test_a_fingerprint_stands_alone(api: Api) -> None:
    answer = deal(api, "discard", fingerprint="x", filter={})
    assert (answer.status, answer.bad_fields()) == (400, ["filter"])
    assert deal(api, "discard", fingerprint="").bad_fields() == ["fingerprint"]
