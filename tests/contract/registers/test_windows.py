"""Counters of windows are exact under concurrent requests."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tests.contract.rows import NOW
from timeball.ports.counters import CountWindow
from timeball.ports.store import Store

WINDOW = CountWindow("acme", "submits", NOW, 1)


def test_a_window_takes_as_much_as_its_limit_and_no_more(store: Store) -> None:
    assert [store.windows.take(WINDOW, 2, 5) for _ in range(3)] == [True, True, False]
    assert store.windows.take(WINDOW, 1, 5)
    assert not store.windows.take(WINDOW, 1, 5)


def test_a_refused_amount_does_not_count(store: Store) -> None:
    assert not store.windows.take(WINDOW, 6, 5)
    assert store.windows.take(WINDOW, 5, 5)


def test_each_window_has_its_own_count(store: Store) -> None:
    others = [replace(WINDOW, tenant="globex"), replace(WINDOW, name="calls"), replace(WINDOW, from_at=NOW + 1000)]
    assert all(store.windows.take(window, 5, 5) for window in (WINDOW, *others))
    assert not any(store.windows.take(window, 1, 5) for window in (WINDOW, *others))


def test_exactly_the_limit_of_fifty_concurrent_counts_is_taken(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: store.windows.take(WINDOW, 1, 20), range(50)))
    assert taken.count(True) == 20
