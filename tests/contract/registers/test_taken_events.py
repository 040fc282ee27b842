"""When events were first accepted: the first note stands, separately for each tenant."""

from tests.contract.rows import NOW
from timeball.ports.store import Store


def test_the_first_note_of_an_event_stands(store: Store) -> None:
    assert store.requests.take_events("acme", ["a", "b"], NOW) == [NOW, NOW]
    assert store.requests.take_events("acme", ["b", "c"], NOW + 5) == [NOW, NOW + 5]


def test_each_tenant_has_events_of_its_own(store: Store) -> None:
    store.requests.take_events("acme", ["a"], NOW)
    assert store.requests.take_events("globex", ["a"], NOW + 5) == [NOW + 5]


def test_an_empty_list_of_events_costs_no_request(store: Store) -> None:
    assert store.requests.take_events("acme", [], NOW) == []
