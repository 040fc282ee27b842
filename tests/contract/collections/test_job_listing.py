"""Jobs of a tenant are listed by status and time of creation, in pages that skip none."""

from dataclasses import replace

import pytest

from tests.contract.rows import NOW, job, swapped
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.terms.notify import News, Notice, Notify, RunEnd
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.usage.spending import Estimate
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

ANY: list[Among] = []


def _stored(store: Store, count: int = 12) -> list[Job]:
    """Store jobs, three of each instant and with alternating statuses; and one of another tenant."""
    statuses = [JobStatus.PENDING, JobStatus.PAUSED, JobStatus.COMPLETED]
    jobs = [
        replace(job(f"job-{n:02}"), created_at=NOW + n // 3, status=statuses[n % 3], due_at=None) for n in range(count)
    ]
    other = with_spec(job("job-00"), key=JobKey("other", "job-00"))
    assert store.jobs.insert([*jobs, other], NOW) == [None] * (count + 1)
    return jobs


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_pages_list_each_job_once_by_its_time_of_creation(store: Store, limit: int, *, oldest_first: bool) -> None:
    expected = [(row.created_at, row.key) for row in _stored(store)]
    query = ListQuery[JobKey]("acme", limit, oldest_first=oldest_first)
    found: list[tuple[int, JobKey]] = []
    while page := store.jobs.listed(ANY, query):
        assert len(page) <= limit
        found += page
        query = replace(query, after=page[-1])
    assert found == sorted(expected, reverse=not oldest_first)


def test_only_the_statuses_and_times_that_are_asked_for_are_listed(store: Store) -> None:
    jobs = _stored(store)
    ended = replace(job("failed"), created_at=NOW + 9, status=JobStatus.FAILED, due_at=None)
    store.jobs.insert([ended], NOW)
    are_open = {row.key for row in jobs if row.status is not JobStatus.COMPLETED}
    assert {key for _, key in store.jobs.listed([Among.OPEN], ListQuery("acme", 50))} == are_open
    assert {key for _, key in store.jobs.listed([Among.OPEN, Among.FAILED], ListQuery("acme", 50))} == {
        *are_open,
        ended.key,
    }
    within = store.jobs.listed(ANY, ListQuery("acme", 50, NOW + 1, NOW + 2))
    assert {key.job_id for _, key in within} == {f"job-{number:02}" for number in range(3, 9)}


def test_a_job_keeps_its_position_in_both_listings_until_it_ends(store: Store) -> None:
    row, place = _stored(store, 1)[0], [(NOW, JobKey("acme", "job-00"))]
    parts = [ANY, [Among.OPEN], [Among.CANCELLED]]
    statuses = [JobStatus.PAUSED, JobStatus.PENDING, JobStatus.CANCELLED, JobStatus.COMPLETED]
    expected = [[place, place, []], [place, place, []], [place, [], place], [place, [], []]]
    for status, lists in zip(statuses, expected, strict=True):
        row = swapped(store.jobs, row, replace(row, status=status, updated_at=NOW + 99))
        assert [store.jobs.listed(part, ListQuery("acme", 50)) for part in parts] == lists


def test_a_notice_is_in_no_list_and_no_count(store: Store) -> None:
    notice = with_spec(
        job("notice-1"), notice=Notice(News.FAILURE, "job", RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE))
    )
    assert store.jobs.insert([notice], NOW) == [None]
    assert store.jobs.listed(ANY, ListQuery("acme", 50)) == []
    assert store.jobs.count("acme").in_all == store.jobs.count("acme").parts[Among.OPEN] == Estimate(0)
    assert store.jobs.sample_open("acme", 10) == []
    (standing,) = store.jobs.read([notice.key])
    assert standing is not None
    assert standing.spec.notice == notice.spec.notice


def test_the_targets_of_notifications_are_read_as_they_were_written(store: Store) -> None:
    whom = HttpTarget("https://told.example/a", "PUT", {"X-Key": "abc"})
    row = with_spec(job("job-1"), notify=Notify(on_late=whom, deadline_seconds=9, after_failures=2))
    row = replace(row, failing=RunEnd(RunId(row.key, NOW, Origin.SCHEDULE), 3))
    store.jobs.insert([row], NOW)
    (standing,) = store.jobs.read([row.key])
    assert standing is not None
    assert (standing.spec.notify, standing.failing) == (row.spec.notify, row.failing)
