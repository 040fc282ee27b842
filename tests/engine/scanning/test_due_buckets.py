"""Due buckets: which days a scan reads, and when a day is drained."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from tests.engine.scanning.days import EMPTY, HELD, KEY, TODAY, Odd, OddJobs
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Rules
from timeball.engine.scanning.buckets import PAGE, Older, Sweeps, begin, day_of, note_pages, to_ask
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import DuePage, DueQuery, Owner
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_store import MemoryStore


def _days(queries: Iterable[DueQuery]) -> list[int]:
    return [(query.day_at - TODAY) // DAY_MS for query in queries]


def _answer(sweeps: Sweeps, queries: Sequence[DueQuery], now: int, held: Sequence[int] = ()) -> dict[int, int]:
    """Note pages that are empty, except for the days that hold entries."""
    pages = [HELD if (query.day_at - TODAY) // DAY_MS in held else EMPTY for query in queries]
    return note_pages(sweeps, zip(queries, pages, strict=True), now)


# Columns: ms from midnight, and the days read in each scan (from two minutes ago to the horizon).
OPEN_DAYS = {
    "in the middle of a day": (12 * HOUR_MS, [0]),
    "a minute into a day": (MINUTE_MS, [-1, 0]),
    "two minutes into a day": (2 * MINUTE_MS, [0]),
    "the horizon is in the next day": (DAY_MS - 4 * SECOND_MS, [0, 1]),
}


@pytest.mark.parametrize("case", OPEN_DAYS)
def test_the_open_days_are_read_in_each_scan(case: str) -> None:
    past_ms, days = OPEN_DAYS[case]
    now, sweeps = TODAY + past_ms, Sweeps()
    begin(sweeps, 0, day_of(now - 2 * MINUTE_MS), now)
    assert _days(to_ask(sweeps, 0, now, now + 5_000, now + 5_000)) == days


# Columns: the stored oldest day (None: there is none), ms from midnight, and the days of a process's first scans.
FIRST_SCANS: dict[str, tuple[int | None, int, list[list[int]]]] = {
    "all older days are drained": (0, 12 * HOUR_MS, [[0], [0]]),
    "yesterday is not yet drained": (-1, 30 * MINUTE_MS, [[0, -1], [0]]),
    "a week ago": (-7, 12 * HOUR_MS, [[0, -7, -6, -5], [0, -4, -3, -2], [0, -1], [0]]),
    "around midnight": (-4, MINUTE_MS, [[-1, 0, -4, -3], [-1, 0, -2], [-1, 0]]),
    "none is stored": (
        None,
        12 * HOUR_MS,
        [*([0, day, day + 1, day + 2] for day in range(-31, -3, 3)), [0, -1], [0]],
    ),
}


@pytest.mark.parametrize("case", FIRST_SCANS)
def test_a_pass_reads_the_older_days_from_the_oldest_on_and_no_more_than_four_days_per_scan(case: str) -> None:
    oldest, past_ms, scans = FIRST_SCANS[case]
    now, sweeps = TODAY + past_ms, Sweeps()
    begin(sweeps, 0, None if oldest is None else TODAY + oldest * DAY_MS, now)
    for days in scans:
        queries = to_ask(sweeps, 0, now, now + 5_000, now + 5_000)
        assert _days(queries) == days
        _answer(sweeps, queries, now)


def test_a_pass_that_was_not_answered_continues_where_it_was() -> None:
    sweeps = Sweeps()
    begin(sweeps, 0, TODAY - 7 * DAY_MS, NOW)
    assert to_ask(sweeps, 0, NOW, NOW, NOW) == to_ask(sweeps, 0, NOW + SECOND_MS, NOW, NOW)


def test_the_next_pass_follows_a_minute_later_or_at_once_if_one_found_rows_to_process() -> None:
    sweeps = Sweeps({0: Older(TODAY - DAY_MS, TODAY - DAY_MS, NOW)})

    def asked(now: int, held: Sequence[int] = ()) -> list[int]:
        queries = to_ask(sweeps, 0, now, now, now)
        _answer(sweeps, queries, now, held)
        return _days(queries)

    assert asked(NOW, held=[-1]) == [0, -1]
    assert asked(NOW, held=[-1]) == [0, -1]
    sweeps.failed[0, TODAY - DAY_MS] = frozenset({KEY})
    assert asked(NOW, held=[-1]) == [0, -1]
    assert asked(NOW + MINUTE_MS - 1) == [0]
    assert asked(NOW + MINUTE_MS) == [0, -1]


# Columns: minutes into today, which of the days since the oldest (three days ago) hold entries, and the new oldest day.
DRAINED: dict[str, tuple[int, list[int], int | None]] = {
    "all are empty": (60, [], 0),
    "yesterday is over for less than an hour": (59, [], -1),
    "something stands in the oldest": (600, [-3], None),
    "something stands in the next": (600, [-2], -2),
    "something stands in the first and the last": (600, [-3, -1], None),
}


@pytest.mark.parametrize("case", DRAINED)
def test_the_oldest_day_moves_only_over_days_that_are_empty_and_long_over(case: str) -> None:
    minutes, held, moved = DRAINED[case]
    now, sweeps = TODAY + minutes * MINUTE_MS, Sweeps()
    begin(sweeps, 0, TODAY - 3 * DAY_MS, now)
    to = _answer(sweeps, to_ask(sweeps, 0, now, now, now), now, held)
    assert to == ({} if moved is None else {0: TODAY + moved * DAY_MS})


class CountingIndex(MemoryDueIndex):
    """A due index that counts its queries."""

    asked = 0

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        self.asked += len(queries)
        return super().query(queries)


@pytest.mark.parametrize("at", [NOW, TODAY + MINUTE_MS, TODAY - 2 * SECOND_MS])
@pytest.mark.parametrize("is_stored", [True, False])
def test_the_first_scan_of_a_process_makes_at_most_sixteen_queries_for_four_shards(at: int, *, is_stored: bool) -> None:
    play = Play(store := MemoryStore(due=CountingIndex), at, Rules(shards=4))
    index = store.due
    assert isinstance(index, CountingIndex)
    for shard in range(4 if is_stored else 0):
        index.move_oldest_day(shard, TODAY - 9 * DAY_MS)
    scan(play.context(), 0, Owner("2026", "a"), sweeps := Sweeps())
    assert index.asked == 16
    for _ in range(70):
        play.clock.advance(SECOND_MS)
        scan(play.context(), 0, Owner("2026", "a"), sweeps)
    index.asked = 0
    scan(play.context(), 0, Owner("2026", "a"), sweeps)
    assert index.asked <= 8


def test_a_bucket_with_more_than_a_page_is_processed_from_its_beginning() -> None:
    play = Play()
    jobs = play.store_jobs(spec(f"job-{number}", At(NOW + number)) for number in range(4 * PAGE))
    assert play.scan().sent == PAGE
    assert {run.id.job for run in play.queue.sent} == {job.key for job in jobs[:PAGE]}
    play.scan_all()
    assert {run.id.job for run in play.queue.sent} == {job.key for job in jobs}


@pytest.mark.parametrize("days", [7, 31, 365])
def test_an_unreadable_row_delays_nothing_on_the_days_after_its_own(days: int) -> None:
    odd = Odd()
    play = Play(store := MemoryStore(odd, jobs=OddJobs))
    odd.tenants = frozenset({"odd"})
    store.due.move_oldest_day(0, TODAY)
    play.store_jobs([replace(spec("unreadable", At(NOW)), key=JobKey("odd", "job"))])
    later = play.store_jobs(spec(f"day-{day}", At(NOW + day * DAY_MS)) for day in range(days))
    play.clock.advance(days * DAY_MS)
    sweeps = Sweeps()
    for _ in range(days // 3 + 2):
        with suppress(ValueError):  # a scan that does nothing raises an error
            scan(play.context(), 0, Owner("2026", "a"), sweeps)
        play.clock.advance(SECOND_MS)
    assert all(play.runs(job.key) for job in later)
    assert store.due.read_oldest_days([0]) == {0: TODAY}


@pytest.mark.parametrize("days", [1, 7, 31])
@pytest.mark.parametrize("is_stored", [True, False])
def test_jobs_due_during_a_pause_of_the_scans_are_caught_up(days: int, *, is_stored: bool) -> None:
    play = Play()
    if is_stored:
        play.store.due.move_oldest_day(0, TODAY)
    jobs = play.store_jobs(spec(f"day-{day}", At(NOW + day * DAY_MS)) for day in range(days))
    play.clock.advance(days * DAY_MS)
    sweeps = Sweeps()
    for _ in range(12):
        scan(play.context(), 0, Owner("2026", "a"), sweeps)
        play.clock.advance(SECOND_MS)
    assert all(play.runs(job.key) for job in jobs)
