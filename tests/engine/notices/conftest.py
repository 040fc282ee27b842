"""A service for each test, whose targets give the answers that the test sets."""

from collections.abc import Iterator

import pytest

from tests.engine.notices.desk import Targets
from tests.engine.play import Play
from tests.engine.service import Service


@pytest.fixture
def targets() -> Targets:
    return Targets(Play().clock)


@pytest.fixture
def service(targets: Targets) -> Iterator[Service]:
    play = Play()
    targets.clock = play.clock
    with Service(play) as service:
        service.target = targets
        yield service
