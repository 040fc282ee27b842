"""Changes of rows that others change too: each is made of the row that stands, or the whole says that it was not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play
from timeball.domain.policy.circuit_breaker import Host, HostKey
from timeball.engine.compare_and_swap import TRIES, compare_and_swap
from timeball.ports.errors import ContendedError
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryHosts, MemoryStore

KEYS = [HostKey("acme", name) for name in ("a", "b", "c")]


class Contested(MemoryHosts):
    """Hosts of which another writer is a little faster, so many times."""

    def __init__(self, memory: Memory, times: int) -> None:
        super().__init__(memory)
        self.times = times

    def swap(self, swaps: Sequence[Swap[Host]], now: int) -> list[Swapped[Host]]:
        if self.times:
            self.times -= 1
            super().swap(
                [Swap(row, replace(row, openings=row.openings + 1)) for row in self.read(KEYS[:2]) if row], now
            )
        return super().swap(swaps, now)


def _failed_once_more(key: HostKey, host: Host | None) -> Host | None:
    return replace(host, failures=host.failures + 1) if host else Host(key, failures=1)


def _play(times: int) -> Play:
    play = Play(MemoryStore(hosts=lambda memory: Contested(memory, times)))
    play.store.hosts.insert([Host(key, failures=7) for key in KEYS[:2]], NOW)
    return play


def test_each_row_is_changed_as_it_stands_and_one_that_is_missing_is_made() -> None:
    play = _play(times=3)
    changed = compare_and_swap(play.context(), play.store.hosts, _failed_once_more, KEYS)
    assert changed == play.store.hosts.read(KEYS)
    assert [(row.failures, row.openings) for row in changed if row] == [(8, 3), (8, 3), (1, 0)]


def test_what_is_as_it_is_to_be_is_not_written() -> None:
    play = _play(times=0)
    kept = compare_and_swap(play.context(), play.store.hosts, lambda _, host: host, KEYS)
    assert [row and row.revision for row in kept] == [1, 1, None]


def test_a_row_that_was_read_before_is_not_read_again_but_for_its_refusal() -> None:
    play = _play(times=0)
    (read,) = play.store.hosts.read(KEYS[:1])
    assert read is not None
    play.store.hosts.swap([Swap(read, replace(read, openings=5))], NOW)
    (row,) = compare_and_swap(play.context(), play.store.hosts, _failed_once_more, KEYS[:1], {KEYS[0]: read})
    assert row is not None
    assert (row.failures, row.openings) == (8, 5)


def test_a_row_that_keeps_changing_is_given_up_by_name() -> None:
    play = _play(times=TRIES)
    with pytest.raises(ContendedError, match="host='a'"):
        compare_and_swap(play.context(), play.store.hosts, _failed_once_more, KEYS[:1])
