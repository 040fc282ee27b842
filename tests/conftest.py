"""Hooks and fixtures of all tests: report measured figures at the end of a run, and save time.

The report shows each tier's processor time and not its wall-clock time, which says little on a shared machine. Tests
that measure wall-clock time run last, after all other processes of the run have finished.
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
    # Python asks libfaketime to sleep until an instant of the monotonic clock. Version 0.9 does not fake that clock,
    # and refuses.
    vars(time)["sleep"] = lambda seconds: threading.Event().wait(seconds)

# Examples have no deadline, because a busy machine would miss it. Each run of the tests uses the same examples.
settings.register_profile(
    "timeball", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("timeball")

_STARTED_AT = pytest.StashKey[float]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests marked `alone` to the end."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)


@pytest.fixture(scope="session")
def at_work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TextIO | None]:
    """Hold a shared lock that shows the other processes of a run that this one has tests left."""
    if not hasattr(request.config, "workerinput"):
        yield None
        return
    with (tmp_path_factory.getbasetemp().parent / "at-work").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield lock


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest, at_work: TextIO | None) -> None:
    """Let a test marked `alone` wait until the other processes have no tests left."""
    if at_work is not None and request.node.get_closest_marker("alone") is not None:
        fcntl.flock(at_work, fcntl.LOCK_EX)


def pytest_collection_finish() -> None:
    """Run the garbage collector seldom, and exclude from it what every test needs, to save time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the processor time before a test, for the report of its teardown, which is its last."""
    item.stash[_STARTED_AT] = _processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the processor time to the teardown's report, so that it also arrives from another process."""
    report = yield
    if call.when == "teardown":
        vars(report)["processor_seconds"] = _processor_seconds() - item.stash[_STARTED_AT]
    return report


def _processor_seconds() -> float:
    """Return the processor time (s) of this process and of its finished children, such as the embedded AWS."""
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
    """Yield the processor time of each tier of the tests, the most expensive first."""
    tiers: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if seconds := getattr(report, "processor_seconds", 0):
                tiers[PurePosixPath(report.fspath).parts[1]] += seconds
    if tiers:
        yield ", ".join(f"{tier} {seconds:.0f}" for tier, seconds in tiers.most_common())
        yield f"in all: {tiers.total():.0f}"


def _crash_points(reports: list[pytest.TestReport]) -> Iterator[str]:
    """Yield what the tests of tests/crash have counted: per store, file by file and in all."""
    files: dict[str, Counter[str]] = {}
    for report in reports:
        counted = getattr(report, "measured", None)
        if counted:
            files.setdefault(PurePosixPath(report.fspath).stem, Counter()).update(counted)
    if files:
        files = {**dict(sorted(files.items())), "in all": sum(files.values(), Counter())}
    for file, counts in files.items():
        yield f"{file}: " + ", ".join(f"{name} {counts[name]}" for name in sorted(counts))
