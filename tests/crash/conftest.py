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
