"""Each crash is played on the store in memory and on DynamoDB's over moto; the queues keep virtual time in both.

A system recovers at once; in memory, where that costs next to nothing, also ten minutes later. Moto costs fifty times
as much, so on moto most cases are left to `make test-all`.
"""

from collections import Counter
from collections.abc import Generator, Iterator

import pytest

from tests.contract.backends import moto
from tests.crash.stage import Memory, Moto, Place, Stage
from tests.engine.play import Play
from tests.engine.service import Service
from timeball.domain.time.instants import MINUTE_MS

MEASURED = pytest.StashKey[Counter[str]]()
LATER = "memory, ten minutes later"


@pytest.hookimpl(tryfirst=True)  # before those marked are deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On moto, mark as `more` all but the first case of a test, or all but the cases that the test names, once each."""
    played = set()
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        params = item.callspec.params
        if params.get("place") == "moto":
            named = item.get_closest_marker("on_moto")
            cases = [param for param in params.values() if param in named.args] if named else ["the first"]
            test = (item.location[0], item.originalname, *cases)
            if not cases or test in played:
                item.add_marker("more")
            played.add(test)


@pytest.fixture(params=["memory", LATER, "moto"], scope="module")
def place(request: pytest.FixtureRequest) -> Iterator[tuple[Place, int]]:
    """Yield the store of a module's tests, which run one after the other, and how late a system recovers (ms)."""
    if request.param == "moto":
        with moto():
            yield Moto(), 0
    else:
        yield Memory(), 10 * MINUTE_MS if request.param == LATER else 0


@pytest.fixture
def stage(request: pytest.FixtureRequest, place: tuple[Place, int]) -> Stage:
    """Return the stage of a test; its counts are reported at the end of the suite."""
    measured = request.node.stash.setdefault(MEASURED, Counter())

    def measure(name: str, count: int) -> None:
        measured[name] += count

    return Stage(*place, measure)


@pytest.fixture
def service() -> Iterator[Service]:
    """Yield a running service, in memory."""
    with Service(Play()) as one:
        yield one


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the figures of a test to its report, which may come from another process."""
    report = yield
    if call.when == "call":
        vars(report)["measured"] = dict(item.stash.get(MEASURED, {}))
    return report
