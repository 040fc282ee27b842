"""Show, at the end of the whole suite, the figures that tests have measured, and how many crash points there are."""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest


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
