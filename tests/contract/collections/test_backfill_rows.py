"""Backfills are listed by their job."""

from tests.contract.rows import KEY, NOW, backfill
from timeball.domain.model.ids import JobKey
from timeball.ports.store import Store


def test_a_jobs_backfills_are_read_page_by_page_in_the_order_of_their_names(store: Store) -> None:
    names = ["a", "a-1", "a1", "b", "b.x", "c"]
    rows = {name: backfill(name) for name in names}
    store.backfills.insert(list(rows.values()), NOW)
    met: list[str] = []
    while page := store.backfills.of_owner(KEY, met[-1] if met else "", 2):
        assert page == [rows[one.key.name] for one in page]
        met += [one.key.name for one in page]
    assert met == sorted(names)
    assert store.backfills.of_owner(JobKey("acme", "another")) == []
