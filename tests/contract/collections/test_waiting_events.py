"""The newest event that waits for a fire of a job, and was accepted before the fire, is read alone."""

from tests.contract.rows import KEY, NOW
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.event import WaitingEvent, WaitingEventKey, subscription_key, waiting_name
from timeball.ports.store import Store

PATTERN, OTHER = subscription_key("acme", "{}"), subscription_key("acme", '{"source":["shop"]}')


def event_at(at: int, name: str = "e", generation: int = 1) -> WaitingEvent:
    return WaitingEvent(WaitingEventKey(KEY, waiting_name(PATTERN, generation, at, name)), "digest")


def test_the_newest_event_before_an_instant_is_read_alone(store: Store) -> None:
    rows = [event_at(NOW), event_at(NOW + 1, "a"), event_at(NOW + 1, "b"), event_at(NOW + 2)]
    another = event_at(NOW + 1, generation=2)
    store.waiting_events.insert([*rows, another], NOW)

    def newest(before_at: int) -> list[WaitingEvent]:
        return store.waiting_events.of_owner(KEY, waiting_name(PATTERN, 1, before_at - 1), 1)

    assert newest(NOW + 9) == newest(NOW + 3) == [rows[3]]
    assert newest(NOW + 2) == [rows[1]]
    assert newest(NOW + 1) == [rows[0]]
    assert newest(NOW) in ([], [another])  # the caller sees by the name that this is of the next generation
    assert store.waiting_events.of_owner(JobKey("acme", "another"), "", 1) == []


def test_an_event_that_comes_again_stays_taken(store: Store) -> None:
    row = event_at(NOW)
    assert store.waiting_events.insert([row], NOW) == [None]
    (standing,) = store.waiting_events.insert([row], NOW + 1)
    assert standing == row
