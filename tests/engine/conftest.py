"""The fixture of a working service."""

from collections.abc import Iterator

import pytest

from tests.engine.play import Play
from tests.engine.service import Service


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(Play()) as one:
        yield one
