from collections.abc import Iterator

import pytest

from tests.client.in_memory import client
from tests.console.world import World
from timeball.client import Timeball


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture
def timeball(world: World) -> Iterator[Timeball]:
    with client(world) as opened:
        yield opened
