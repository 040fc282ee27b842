"""Concurrent changes of rows: each change applies to the current row, or is reported as not done."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.engine.play import NOW, Play
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.engine.compare_and_swap import TRIES, compare_and_swap
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_rows import Memory, MemoryRows
from timeball.testing.memory_store import MemoryStore

KEYS = [CircuitKey("acme", name) for name in ("a", "b", "c")]


class Contested(MemoryRows[CircuitKey, Circuit]):
    """Hosts of which another writer comes first, this many times."""

    def __init__(self, memory: Memory, times: int) -> None:
        super().__init__(memory)
        self.times = times

    def swap(self, swaps: Sequence[Swap[Circuit]], now: int) -> list[Swapped[Circuit]]:
        if self.times:
            self.times -= 1
            super().swap(
                [Swap(row, replace(row, openings=row.openings + 1)) for row in self.read(KEYS[:2]) if row], now
            )
        return super().swap(swaps, now)


def _failed_once_more(_: int, host: Circuit) -> Circuit:
    return replace(host, failures=host.failures + 1)


def _change(
    play: Play, change: Callable[[int, Circuit], Circuit | None], read: Sequence[Circuit | None]
) -> list[Swapped[Circuit]]:
    return compare_and_swap(play.store.circuits.swap, read, change, NOW)


def _play(times: int) -> tuple[Play, list[Circuit | None]]:
    play = Play(MemoryStore(circuits=lambda memory: Contested(memory, times)))
    play.store.circuits.insert([Circuit(key, failures=7) for key in KEYS[:2]], NOW)
    return play, play.store.circuits.read(KEYS)


def test_each_row_is_changed_from_its_current_state_and_a_missing_row_stays_missing() -> None:
    play, read = _play(times=3)
    changed = _change(play, _failed_once_more, read)
    assert changed == [Swapped(done=True, row=row) for row in play.store.circuits.read(KEYS)]
    assert [(row.failures, row.openings) for one in changed if (row := one.row)] == [(8, 3), (8, 3)]


def test_a_row_that_need_not_change_counts_as_done_and_is_not_written() -> None:
    play, read = _play(times=0)
    assert _change(play, lambda *_: None, read) == [Swapped(done=True, row=row) for row in read]
    assert play.store.circuits.read(KEYS) == read


def test_a_row_that_is_written_unchanged_gets_a_new_revision() -> None:
    play, read = _play(times=0)
    written = _change(play, lambda _, host: host, read)
    assert [row.revision for one in written if (row := one.row)] == [2, 2]


def test_another_writers_change_may_make_a_refused_write_unnecessary() -> None:
    play, read = _play(times=1)
    changed = _change(play, lambda _, host: None if host.openings else replace(host, failures=0), read[:1])
    assert [(one.done, one.row and (one.row.failures, one.row.openings)) for one in changed] == [(True, (7, 1))]


def test_each_row_is_changed_by_its_index_in_the_list() -> None:
    play, read = _play(times=1)
    changed = _change(play, lambda position, host: replace(host, failures=position), read)
    assert [row.failures for one in changed if (row := one.row)] == [0, 1]


def test_a_row_that_keeps_changing_is_reported_as_not_done_and_the_others_are_done() -> None:
    play, _ = _play(times=TRIES)
    play.store.circuits.insert([Circuit(KEYS[2])], NOW)
    changed = _change(play, _failed_once_more, play.store.circuits.read(KEYS))
    assert [one.done for one in changed] == [False, False, True]
    assert [one.row for one in changed] == play.store.circuits.read(KEYS)
