"""Each crash is played on the store in memory and on DynamoDB's over moto; the queues keep virtual time in both."""

from collections.abc import Callable, Iterator

import pytest

from tests.contract.backends import moto_stores
from tests.engine.play import Play
from timeball.testing.memory_store import MemoryStore

NewPlay = Callable[[int], Play]


@pytest.fixture(params=["memory", "moto"])
def new_play(request: pytest.FixtureRequest) -> Iterator[NewPlay]:
    """Make a play that begins at an instant, on a store of its own."""
    if request.param == "memory":
        yield lambda at: Play(MemoryStore(), at)
        return

    with moto_stores() as new_store:
        yield lambda at: Play(new_store(), at)


def points_of(play: Play, reached: int, every: int = 2) -> range:
    """Return the points at which to stop: all of them, or on moto, which is slow, `every` second one, say.

    Every second one is before a write: the point after it leaves the same rows as the one before the next.
    """
    return range(0, reached, 1 if isinstance(play.store, MemoryStore) else every)
