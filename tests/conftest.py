"""What holds for the whole suite: the figures that tests have measured are shown at its end, and it makes haste."""

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest


def pytest_collection_finish() -> None:
    """Let the collector of garbage look seldom, and no more at what every test needs, to save time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    for title, lines in {
        "measured": [f"{name}: {value}" for report in reports for name, value in report.user_properties],
        "crash points, and what recovered from them": list(_crash_points(reports)),
    }.items():
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


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
