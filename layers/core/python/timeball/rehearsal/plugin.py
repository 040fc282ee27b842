"""The plugin of pytest: the fixture `timeball`, and the marker that says when its clock starts.

Every run of pytest loads this module, so it imports nothing else until a test asks for the fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from timeball.rehearsal.rehearsal import Rehearsal

_MARKER = "timeball(start, tz, tenant): when the clock of `timeball` starts, in which zone, and for which tenant"


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def timeball(request: pytest.FixtureRequest) -> "Iterator[Rehearsal]":
    """Return a Timeball in memory under a virtual clock, which starts at 2027-01-01T00:00Z."""
    try:
        from timeball.rehearsal.rehearsal import Rehearsal  # noqa: PLC0415 - see above
    except ModuleNotFoundError as missing:
        raise pytest.UsageError(
            f"{missing}: install Timeball with its extra `test`, which brings what a rehearsal needs."
        ) from None
    marker = request.node.get_closest_marker("timeball")
    try:
        rehearsal = Rehearsal(**({} if marker is None else marker.kwargs))
    except TypeError:
        raise pytest.UsageError("The marker timeball takes start, tz and tenant, each by its name.") from None
    with rehearsal:
        yield rehearsal
