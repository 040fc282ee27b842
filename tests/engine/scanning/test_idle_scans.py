"""After a minute without finds two of three scans make no query; jobs stored before are found no later than usual."""

from collections import Counter

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.scanning.buckets import Sweeps, open_through
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import DuePage, DueQuery, Owner
from timeball.testing.memory_kept import MemoryDueIndex

OWNER = Owner("2026", "a")
_QUERY = MemoryDueIndex.query


def scan_for(play: Play, sweeps: Sweeps, seconds: int) -> list[int]:
    """Scan once a second, and return when (ms) a run was sent."""
    sent: list[int] = []
    for _ in range(seconds):
        play.clock.advance(SECOND_MS)
        if scan(play.context(), 0, OWNER, sweeps).sent:
            sent.append(play.clock.now())
    return sent


def test_after_a_minute_without_finds_a_scan_makes_no_query_in_two_of_three_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def noting(index: MemoryDueIndex, queries: list[DueQuery]) -> list[DuePage]:
        asked.append(len(queries))
        return _QUERY(index, queries)

    monkeypatch.setattr(MemoryDueIndex, "query", noting)
    play, sweeps = Play(), Sweeps()
    scan_for(play, sweeps, 61)
    asked.clear()
    scan_for(play, sweeps, 30)
    assert sum(asked) == 10 * play.rules.shards
    assert max(asked) == play.rules.shards


@pytest.mark.parametrize("second", range(6))
def test_a_job_stored_before_is_sent_with_the_usual_look_ahead(second: int) -> None:
    play, sweeps = Play(), Sweeps()
    due_at = NOW + 3 * MINUTE_MS + second * SECOND_MS + 300
    play.store_jobs([spec("later", At(due_at))])
    (sent_at,) = scan_for(play, sweeps, 200)
    ahead_ms = play.rules.lookahead_ms
    assert ahead_ms - SECOND_MS <= due_at - sent_at <= ahead_ms


@pytest.mark.parametrize("second", range(6))
def test_a_job_stored_meanwhile_is_sent_at_most_two_seconds_later(second: int) -> None:
    play, sweeps = Play(), Sweeps()
    scan_for(play, sweeps, 90 + second)
    due_at = play.clock.now() + play.rules.lookahead_ms + 1
    play.store_jobs([spec("soon", At(due_at))])
    (sent_at,) = scan_for(play, sweeps, 10)
    assert due_at - sent_at >= play.rules.lookahead_ms - 3 * SECOND_MS


def test_after_a_find_each_scan_makes_queries_for_a_minute() -> None:
    sweeps = Sweeps(found_at=NOW)
    later = NOW + MINUTE_MS - SECOND_MS
    assert [open_through(sweeps, 0, later + ms, NOW) for ms in range(0, SECOND_MS, 100)] == [NOW] * 10


def test_the_next_idle_scan_is_asked_for_in_three_seconds_and_queries() -> None:
    play, sweeps = Play(), Sweeps()
    scan_for(play, sweeps, 65)
    play.clock.advance(3 * SECOND_MS)
    for _ in range(20):
        before = sweeps.queried_at[0]
        assert scan(play.context(), 0, OWNER, sweeps).idle
        assert sweeps.queried_at[0] > before
        play.clock.advance(3 * SECOND_MS)


def test_a_scan_that_finds_anything_asks_for_the_next_one_in_a_second() -> None:
    play, sweeps = Play(), Sweeps()
    scan_for(play, sweeps, 90)
    play.store_jobs([spec("soon", At(play.clock.now() + 5 * SECOND_MS))])
    play.clock.advance(3 * SECOND_MS)
    assert not scan(play.context(), 0, OWNER, sweeps).idle


def test_a_process_that_scans_two_partitions_in_turn_queries_for_both_while_idle() -> None:
    play, sweeps, asked = Play(), Sweeps(), Counter[int]()
    scan_for(play, sweeps, 90)
    for _ in range(10):
        play.clock.advance(3 * SECOND_MS)
        for partition in (0, 1):
            scan(play.context(), partition, OWNER, sweeps, partitions=2)
            asked[partition] += sweeps.queried_at.get(partition) == play.clock.now()
    assert asked == {0: 10, 1: 10}
