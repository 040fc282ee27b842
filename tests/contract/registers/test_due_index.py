"""The due index: the key, the order and the removal of entries; the rows of partitions and shards."""

from dataclasses import replace

import pytest

from tests.contract.rows import KEY, NOW, job, one_off, run, swapped
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.jobs.job_states import concluded, pushed_back
from timeball.domain.model.runs.transitions import claimed, due_again, retrying
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.instants import DAY_MS, MINUTE_MS
from timeball.ports.due_index import BEAT_MS, SILENCE_MS, DueCursor, DuePage, DueQuery, Owned, Owner
from timeball.ports.rows import Swap
from timeball.ports.store import Store

TODAY = NOW - NOW % DAY_MS


def _due(store: Store, day_at: int = TODAY, through_at: int = NOW, shard: int = 0) -> list[Owned]:
    (page,) = store.due.query([DueQuery(shard, day_at, through_at, 100)])
    assert page.stopped is None
    return list(page.candidates)


def test_due_jobs_and_runs_are_listed_together_earliest_first(store: Store) -> None:
    store.jobs.insert([job("late", due_at=NOW - 1), job("early", due_at=NOW - 9)], NOW - MINUTE_MS)
    store.runs.insert([run(NOW - 60_000, due_at=NOW - 5)], NOW - MINUTE_MS)
    store.jobs.insert([job("not-yet", due_at=NOW + 1), job("elsewhere", due_at=NOW, shard=1)], NOW - MINUTE_MS)
    assert _due(store) == [JobKey("acme", "early"), run(NOW - 60_000).id, JobKey("acme", "late")]
    assert _due(store, through_at=NOW + 1)[-1] == JobKey("acme", "not-yet")
    assert _due(store, shard=1) == [JobKey("acme", "elsewhere")]


def test_a_page_that_stops_at_its_limit_says_so_and_has_the_earliest_entries(store: Store) -> None:
    store.jobs.insert([job(f"job-{step}", due_at=NOW - step) for step in range(7)], NOW - MINUTE_MS)
    few, all_of_them = store.due.query([DueQuery(0, TODAY, NOW, 3), DueQuery(0, TODAY, NOW, 8)])
    assert few.stopped is not None
    assert few.candidates == tuple(JobKey("acme", f"job-{step}") for step in (6, 5, 4))
    assert all_of_them.stopped is None
    assert len(all_of_them.candidates) == 7


def test_consecutive_pages_list_each_entry_once_even_entries_of_one_instant(store: Store) -> None:
    names = [f"job-{number}" for number in range(5)]
    store.jobs.insert([job(name, due_at=NOW) for name in names], NOW - MINUTE_MS)
    store.runs.insert([run(NOW - step, due_at=NOW) for step in range(3)], NOW - MINUTE_MS)
    pages, query = list[DuePage](), DueQuery(0, TODAY, NOW, 3)
    while not pages or pages[-1].stopped is not None:
        pages += store.due.query([replace(query, after=pages[-1].stopped if pages else None)])
    told = [one for page in pages for one in page.candidates]
    assert sorted(map(str, told)) == sorted(map(str, _due(store)))
    assert len(told) == 8


def test_a_page_continues_after_an_entry_that_is_gone(store: Store) -> None:
    jobs = [job(f"job-{step}", due_at=NOW - step) for step in range(6)]
    store.jobs.insert(jobs, NOW - MINUTE_MS)
    (first,) = store.due.query([DueQuery(0, TODAY, NOW, 2)])
    last = with_spec(jobs[4], work=None)
    swapped(store.jobs, last, replace(last, due_at=None))
    (second,) = store.due.query([DueQuery(0, TODAY, NOW, 9, after=first.stopped)])
    assert second.candidates == tuple(JobKey("acme", f"job-{step}") for step in (3, 2, 1, 0))


def test_the_instants_of_due_entries_in_a_span_are_listed_even_across_midnight(store: Store) -> None:
    midnight = TODAY + DAY_MS
    times = [midnight - MINUTE_MS, midnight - 1, midnight, midnight + 5, midnight + MINUTE_MS]
    store.jobs.insert([job(f"job-{at}", due_at=at) for at in times] + [job("other", due_at=midnight, shard=1)], NOW)
    assert store.due.ahead(0, midnight - 1, midnight + 5, 10) == [midnight - 1, midnight, midnight + 5]
    assert store.due.ahead(0, midnight - 1, midnight + 5, 2) == [midnight - 1, midnight]
    assert store.due.ahead(0, NOW, NOW + 5, 10) == []


def test_a_tenant_that_is_left_out_is_read_past_and_not_listed(store: Store) -> None:
    crowd = [with_spec(job(f"job-{step}", due_at=NOW - step), key=JobKey("crowd", f"job-{step}")) for step in range(5)]
    store.jobs.insert([*crowd, job("one", due_at=NOW - 2)], NOW - MINUTE_MS)
    store.runs.insert([run(due_at=NOW)], NOW - MINUTE_MS)
    query = DueQuery(0, TODAY, NOW, 9, left_out=frozenset({"crowd"}))
    whole, part, crowds = store.due.query(
        [query, replace(query, limit=2), replace(query, left_out=frozenset({"acme"}))]
    )
    assert (whole.candidates, whole.stopped) == ((JobKey("acme", "one"), run().id), None)
    assert (part.candidates, part.stopped) == ((), DueCursor(NOW - 3, JobKey("crowd", "job-3")))
    assert len(crowds.candidates) == 5


def test_leaving_out_a_tenant_does_not_leave_out_another_whose_name_begins_alike(store: Store) -> None:
    others = [with_spec(job(due_at=NOW), key=JobKey(tenant, "job")) for tenant in ("acme", "acme-2", "ac")]
    store.jobs.insert(others, NOW)
    (page,) = store.due.query([DueQuery(0, TODAY, NOW, 9, left_out=frozenset({"acme"}))])
    assert set(page.candidates) == {JobKey("acme-2", "job"), JobKey("ac", "job")}


def test_several_queries_are_answered_in_their_order(store: Store) -> None:
    store.jobs.insert([job("a", due_at=NOW), job("b", due_at=NOW + DAY_MS), job("c", due_at=NOW, shard=3)], NOW)
    queries = [DueQuery(shard, day, NOW + DAY_MS, 9) for shard, day in ((3, 0), (0, 1), (1, 0), (0, 0))]
    queries = [replace(query, day_at=TODAY + query.day_at * DAY_MS) for query in queries]
    answered = [[key.job_id for key in page.candidates if isinstance(key, JobKey)] for page in store.due.query(queries)]
    assert answered == [["c"], ["b"], [], ["a"]]


# Each case: when the entry is due, in days from its write; and the day of its bucket.
BUCKETS = {
    "due today": (0, 0),
    "due in two days": (2, 2),
    "due two days ago: born where scans still look": (-2, 0),
}


@pytest.mark.parametrize("case", BUCKETS)
def test_an_entry_is_in_the_day_of_its_due_time_or_of_its_write_if_that_is_later(store: Store, case: str) -> None:
    due_day, stands_in = BUCKETS[case]
    due_at = NOW + due_day * DAY_MS
    store.jobs.insert([job(due_at=due_at)], NOW)
    store.runs.insert([run(due_at=due_at)], NOW)
    for day in range(-3, 4):
        expected = {KEY, run().id} if day == stands_in else set()
        assert set(_due(store, TODAY + day * DAY_MS, due_at)) == expected


# Each case: days from the first write to the second, the new due time in days from the first write, and the day of the
# entry's bucket then.
MOVES = {
    "within the day": (0, 0, 0),
    "to a later day": (0, 2, 2),
    "to an earlier time": (0, -2, 0),
    "two days on, due that day: not left behind in the old one": (2, 2, 2),
    "two days on, due before: on the day of the writing": (2, 1, 2),
    "two days on, due later": (2, 3, 3),
}


@pytest.mark.parametrize("case", MOVES)
def test_a_moved_entry_leaves_its_old_day_for_the_day_of_the_new_due_time_or_of_the_write(
    store: Store, case: str
) -> None:
    written, due_day, stands_in = MOVES[case]
    store.jobs.insert([job()], NOW)
    store.runs.insert([run(due_at=NOW)], NOW)
    now, due_at = NOW + written * DAY_MS, NOW + due_day * DAY_MS + MINUTE_MS
    before = with_spec(job(), work=None)
    store.jobs.swap([Swap(before, pushed_back(before, due_at))], now)
    store.runs.swap([Swap(run(due_at=NOW), due_again(run(due_at=NOW), due_at))], now)
    for day in range(-3, 5):
        expected = {KEY, run().id} if day == stands_in else set()
        assert set(_due(store, TODAY + day * DAY_MS, due_at)) == expected


def test_an_entry_whose_due_time_does_not_change_stays_in_its_day(store: Store) -> None:
    store.jobs.insert([job()], NOW)
    before = with_spec(job(), work=None)
    store.jobs.swap([Swap(before, with_spec(replace(before, revision=2), tags={"a": "b"}))], NOW + 2 * DAY_MS)
    assert _due(store) == [KEY]
    assert _due(store, TODAY + 2 * DAY_MS, NOW + 2 * DAY_MS) == []


def test_an_entry_is_gone_while_its_row_has_no_due_time(store: Store) -> None:
    store.jobs.insert([job()], NOW)
    before = with_spec(job(), work=None)
    gone = swapped(store.jobs, before, replace(before, due_at=None))
    queued = run(due_at=NOW)
    store.runs.insert([queued], NOW)
    running = swapped(store.runs, queued, claimed(queued, "owner", NOW, 30_000))
    assert _due(store) == []
    attempt = Attempt(1, Outcome.FAILED, NOW)
    store.runs.swap([Swap(running, retrying(running, NOW, attempt))], NOW)
    store.jobs.swap([Swap(gone, pushed_back(gone, NOW))], NOW)
    assert set(_due(store)) == {KEY, queued.id}


def test_a_concluded_job_is_no_longer_due(store: Store) -> None:
    store.jobs.insert([one_off()], NOW)
    assert _due(store) == [KEY]
    swapped(store.jobs, one_off(), concluded(one_off(), JobStatus.COMPLETED, NOW))
    assert _due(store) == []


def test_a_refused_write_moves_no_entry(store: Store) -> None:
    store.jobs.insert([job()], NOW)
    stale = with_spec(replace(job(), revision=9), work=None)
    store.jobs.swap([Swap(stale, pushed_back(stale, NOW + 2 * DAY_MS))], NOW)
    store.jobs.insert([job(due_at=NOW + 2 * DAY_MS)], NOW)
    assert _due(store) == [KEY]
    assert _due(store, TODAY + 2 * DAY_MS, NOW + 2 * DAY_MS) == []


def test_the_greater_owner_takes_a_partition_and_a_lesser_one_is_refused(store: Store) -> None:
    first, second = Owner("2026-11-21T09:30:00Z", "b"), Owner("2026-11-21T09:31:00Z", "a")
    assert store.partitions.take(0, first, NOW)
    assert store.partitions.take(0, first, NOW)
    assert store.partitions.take(0, second, NOW)
    assert not store.partitions.take(0, first, NOW)
    assert not store.partitions.take(0, Owner(second.started_at, "0"), NOW)
    assert store.partitions.take(0, Owner(second.started_at, "b"), NOW)
    assert store.partitions.take(1, first, NOW)


def test_a_lesser_owner_takes_a_partition_while_the_greater_one_is_silent(store: Store) -> None:
    first, second = Owner("2026-11-21T09:30:00Z", "b"), Owner("2026-11-21T09:31:00Z", "a")
    assert store.partitions.take(0, second, NOW)
    assert store.partitions.take(0, second, NOW + BEAT_MS - 1)  # no write: the last one is fresh
    assert not store.partitions.take(0, first, NOW + SILENCE_MS - 1)
    assert store.partitions.take(0, first, NOW + SILENCE_MS)
    assert store.partitions.take(0, second, NOW + SILENCE_MS + 1)
    assert not store.partitions.take(0, first, NOW + SILENCE_MS + 2)
    assert store.partitions.take(0, second, NOW + SILENCE_MS + 1 + BEAT_MS)  # written
    assert not store.partitions.take(0, first, NOW + 2 * SILENCE_MS + BEAT_MS)


def test_the_last_tick_of_a_partition_is_read(store: Store) -> None:
    assert store.partitions.last_tick(0) is None
    assert store.partitions.take(0, Owner("2026-11-21T09:30:00Z", "b"), NOW)
    assert store.partitions.last_tick(0) == NOW
    assert store.partitions.last_tick(1) is None


def test_the_oldest_day_only_moves_forward_and_each_shard_has_its_own(store: Store) -> None:
    store.due.move_oldest_day(0, TODAY)
    store.due.move_oldest_day(0, TODAY - DAY_MS)
    assert store.due.read_oldest_days([0, 1]) == {0: TODAY}
    store.due.move_oldest_day(0, TODAY + DAY_MS)
    store.due.move_oldest_day(1, TODAY)
    assert store.due.read_oldest_days([0, 1]) == {0: TODAY + DAY_MS, 1: TODAY}
    assert store.due.read_oldest_days([1]) == {1: TODAY}


def test_the_largest_number_of_shards_is_kept(store: Store) -> None:
    assert store.due.most_shards(4) == 4
    assert store.due.most_shards(64) == 64
    assert store.due.most_shards(4) == 64
    assert store.due.most_shards(64) == 64
