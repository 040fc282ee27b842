from collections.abc import Iterator

import pytest

from tests.console.server import ConsoleServer


@pytest.fixture
def console() -> Iterator[ConsoleServer]:
    """The console and the API over an empty world, whose clock stands until a test moves it."""
    with ConsoleServer() as server:
        yield server
