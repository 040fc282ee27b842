"""When an event that was put off comes again: spread over the time that its runs take, and as soon as the queue can."""

import heapq
from itertools import count

import pytest

from timeball.domain.sharing.fairness import Pace, comes_again_at, next_page, with_made, with_no_room, with_put_off
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

NOW = 1_800_000_000_000
_LONGEST_MS = 15 * MINUTE_MS


@pytest.mark.parametrize(
    ("pace", "at"),
    [
        (Pace(), 0),  # nothing was made or put off
        (Pace(made_until=4_000), 4_000),  # what was made counts until then
        (Pace(made_until=4_000, put_off_until=3_000), 4_000),
        (Pace(made_until=4_000, put_off_until=9_000), 9_000),  # after those that were put off before
        (with_no_room(Pace(made_until=4_000, put_off_until=9_000), 60_000), 60_000),  # not before the next minute
        (Pace(put_off_until=_LONGEST_MS), _LONGEST_MS),
        (Pace(put_off_until=_LONGEST_MS + 1), 0),  # a new round
        (Pace(made_until=4_000, put_off_until=100 * _LONGEST_MS), 4_000),
    ],
)
def test_an_event_put_off_comes_after_those_before_it_and_never_later_than_the_queue_can(pace: Pace, at: int) -> None:
    moved = Pace(NOW + pace.made_until, NOW + pace.put_off_until)
    assert comes_again_at(moved, NOW) == NOW + at


@pytest.mark.parametrize(
    ("amount", "most", "takes"),
    [
        (100, 0, 1_000),  # a hundred a second
        (100, 6_000, 1_000),
        (100, 60_000, 1_000),  # a loose quota hastens nothing
        (1, 10, 6_000),
        (1, 7, 8_572),  # rounded up: no minute is booked for eight
    ],
)
def test_an_event_put_off_takes_the_time_of_its_runs(amount: int, most: int, takes: int) -> None:
    assert with_put_off(Pace(), amount, most, NOW).put_off_until == NOW + takes


def test_a_flood_of_hours_is_made_at_the_whole_pace() -> None:
    """Play 9,000 events of a hundred runs each, of which 25 come to the process each tenth of a second."""
    events, pace, made, numbers = 9_000, Pace(), 0, count()
    waiting = [(NOW, next(numbers)) for _ in range(events)]
    now = NOW
    while waiting:
        now = max(now, waiting[0][0])
        for _ in range(25):
            if not waiting or waiting[0][0] > now:
                break
            heapq.heappop(waiting)
            if not pace.is_ahead(now):
                pace, made = with_made(pace, 100, now), made + 1
                continue
            at = comes_again_at(pace, now)
            assert now <= at <= now + _LONGEST_MS
            pace = with_put_off(pace, 100, 0, at)
            heapq.heappush(waiting, (at, next(numbers)))
        now += SECOND_MS // 10
    assert made == events
    assert events - 5 <= (now - NOW) / SECOND_MS <= 1.03 * events


@pytest.mark.parametrize(
    ("sizes", "most", "page"),
    [
        ([1, 1, 1], 100, (3, 3)),
        ([1] * 250, 100, (100, 100)),
        ([40, 40, 40], 100, (2, 80)),  # a page has whole things
        ([101, 1], 100, (1, 101)),  # a larger one is a page of its own
        ([1, 101], 100, (1, 1)),
    ],
)
def test_a_page_has_things_of_so_many_runs(sizes: list[int], most: int, page: tuple[int, int]) -> None:
    assert next_page(sizes, most) == page
