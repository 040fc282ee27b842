"""Four tasks of newcomers, done from the documents alone: each script replays one, and its outcome is as wanted."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.readme import read
from tests.docs.terminal import PageServer, Terminal

pytestmark = pytest.mark.more  # the pages that the scripts follow are run by tests/docs/test_pages.py

SCRIPTS = Path(__file__).parent
TEAMS = ("black", "blue", "green", "red", "white")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with PageServer() as server, Terminal(server, tmp_path) as terminal:
        yield terminal


def replay(terminal: Terminal, task: str) -> str:
    """Run a script from its beginning to its end; return what it printed."""
    printed = terminal.paste(read(SCRIPTS / f"{task}.sh"))
    assert printed.status == 0, printed.text
    return printed.text


def test_a_nightly_webhook_is_called_each_night_and_its_failure_and_recovery_are_told(terminal: Terminal) -> None:
    replay(terminal, "nightly_webhook")
    calls = [line.split() for line in read(terminal.folder / "calls.txt").splitlines()]
    nights = ["2026-11-24T01:30:00.000Z", "2026-11-25T01:30:00.000Z"]
    assert [(path, attempt) for path, at, attempt in calls if at == nights[0]] == [("/export", "1")]
    assert [(path, attempt) for path, at, attempt in calls if at == nights[1]] == [
        ("/export", str(n)) for n in (1, 2, 3)
    ]
    assert [path for path, *_ in calls if path not in {"/export", "/hello"}] == ["/alarm", "/better"]


def test_a_night_of_ten_jobs_fails_is_repaired_and_ends_in_order(terminal: Terminal) -> None:
    printed = replay(terminal, "ten_jobs")
    before, after = printed.split("The night has failed.")
    assert re.search(r"^report +✗ failed", before, re.MULTILINE)
    assert len(re.findall(r"✓ succeeded", before)) == 9
    assert re.search(r"^report +✓ succeeded", after, re.MULTILINE)
    got = re.findall(r'"GET /([\w-]+) HTTP/1.1" (\d+)', printed)
    assert Counter(name for name, _ in got if name != "clean-up") == {
        **dict.fromkeys(("orders", "customers", "stock", "orders-table", "customers-table", "stock-table"), 1),
        "sales": 1,
        "shelves": 1,
        "report": 2,
    }
    at = {name: place for place, (name, _) in enumerate(got)}
    assert at["orders"] < at["orders-table"] < at["shelves"] < at["report"]
    assert at["customers-table"] < at["sales"]


def test_each_of_five_teams_has_its_own_jobs_quota_and_alarm(terminal: Terminal) -> None:
    printed = replay(terminal, "five_teams")
    assert "Refused with 6." in printed
    assert read(terminal.folder / "alarms.txt").split().count("/alarm/red") == 2
    assert Counter(read(terminal.folder / "alarms.txt").split()) == {f"/alarm/{team}": 2 for team in TEAMS}
    (dead,) = {re.search(rf"^{team} .* (\d+) *$", printed, re.MULTILINE)[1] for team in TEAMS}  # type: ignore[index]
    assert dead == "2"


def test_a_unit_test_of_own_schedules_passes_where_they_are_as_expected_and_fails_elsewhere(terminal: Terminal) -> None:
    printed = replay(terminal, "own_schedules")
    assert re.search(r"^FAILED test_plan\.py::test_a_wrong_expectation_fails", printed, re.MULTILINE), printed
    assert "1 failed, 2 passed" in printed
    assert "Pytest ended with 1." in printed
