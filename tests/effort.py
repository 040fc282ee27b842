"""The cost of a piece of work, relative to a yardstick: a slow or busy machine slows both."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import perf_counter, process_time

_MEASURED_SECONDS = 0.05
"""Long enough for a system that counts processor time in ticks of ten milliseconds."""


@contextmanager
def at_most(yardsticks: int) -> Iterator[None]:
    """Assert that the body takes less than this many yardsticks. Each is a millisecond of a fast processor."""
    one, began = _yardstick(), process_time()
    yield
    took = (process_time() - began) / one
    assert took < yardsticks, f"{took:.0f} yardsticks"


def in_yardsticks(milliseconds: float) -> float:
    """Return a processor time in yardsticks: on a fast processor, each is a millisecond."""
    return milliseconds / 1_000 / _yardstick()


def busyness() -> float:
    """Return the ratio of wall-clock time to processor time: 1 where nothing else uses the processors."""
    began, used = perf_counter(), process_time()
    while process_time() - used < 4 * _MEASURED_SECONDS:
        sum(number * number % 7 for number in range(30_000))
    return max(1.0, (perf_counter() - began) / (process_time() - used))


@cache
def _yardstick() -> float:
    """Return how many seconds of processor time a fixed piece of work takes in this process."""
    began, times = process_time(), 0
    while process_time() - began < _MEASURED_SECONDS:
        sum(number * number % 7 for number in range(30_000))
        times += 1
    return (process_time() - began) / times
