"""What holds for the whole suite: the figures that tests have measured are shown at its end, and it makes haste.

Each tier's processor time is shown too, and not the time by the clock, which on a machine that is shared says little.
What measures time by the clock runs last, when all other processes of the run are through.
"""

import fcntl
import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import PurePosixPath
from typing import TextIO

import pytest
from hypothesis import HealthCheck, settings

if "FAKETIME_DONT_FAKE_MONOTONIC" in os.environ:
    # libfaketime 0.9 refuses to sleep until an instant of a clock that it does not fake, as Python asks it to.
    vars(time)["sleep"] = lambda seconds: threading.Event().wait(seconds)

# An example has no time limit, which a busy machine would break, and each run of the tests has the same examples.
settings.register_profile(
    "timeball", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("timeball")

_STARTED_AT = pytest.StashKey[float]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put off what is to be alone."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)


@pytest.fixture(scope="session")
def at_work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TextIO | None]:
    """Show the other processes of a run that this one has tests left."""
    if not hasattr(request.config, "workerinput"):
        yield None
        return
    with (tmp_path_factory.getbasetemp().parent / "at-work").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield lock


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest, at_work: TextIO | None) -> None:
    """Let a test that is to be alone wait until the other processes have no tests left."""
    if at_work is not None and request.node.get_closest_marker("alone") is not None:
        fcntl.flock(at_work, fcntl.LOCK_EX)


def pytest_collection_finish() -> None:
    """Let the collector of garbage look seldom, and no more at what every test needs, to save time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let the report of a test's teardown, its last, tell how much processor time went by."""
    item.stash[_STARTED_AT] = _processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the processor time travel with a report, also from another process."""
    report = yield
    if call.when == "teardown":
        vars(report)["processor_seconds"] = _processor_seconds() - item.stash[_STARTED_AT]
    return report


def _processor_seconds() -> float:
    """Return how long this process has worked, and those that it has waited for: the embedded AWS, at its end."""
    return sum(os.times()[:4])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    for title, lines in {
        "measured": [f"{name}: {value}" for report in reports for name, value in report.user_properties],
        "processor time (s)": list(_processor_times(terminalreporter)),
        "crash points, and what recovered from them": list(_crash_points(reports)),
    }.items():
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


def _processor_times(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """Tell how much of it each tier of the tests took, dearest first."""
    tiers: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if seconds := getattr(report, "processor_seconds", 0):
                tiers[PurePosixPath(report.fspath).parts[1]] += seconds
    if tiers:
        yield ", ".join(f"{tier} {seconds:.0f}" for tier, seconds in tiers.most_common())
        yield f"in all: {tiers.total():.0f}"


def _crash_points(reports: list[pytest.TestReport]) -> Iterator[str]:
    """Tell what the tests of tests/crash have counted: on which store, file by file and in all."""
    files: dict[str, Counter[str]] = {}
    for report in reports:
        counted = getattr(report, "measured", None)
        if counted:
            files.setdefault(PurePosixPath(report.fspath).stem, Counter()).update(counted)
    if files:
        files = {**dict(sorted(files.items())), "in all": sum(files.values(), Counter())}
    for file, counts in files.items():
        yield f"{file}: " + ", ".join(f"{name} {counts[name]}" for name in sorted(counts))
