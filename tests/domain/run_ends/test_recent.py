"""The state of a job as the newest rows of its ledger show it, as a table of cases."""

from dataclasses import replace

import pytest

from tests.contract.rows import NOW, run
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.run_ends.recent import OUTCOMES, ROWS, Recent, recent_of

STATES = {letter: RunState(name) for letter, name in [("s", "succeeded"), ("f", "failed"), ("k", "skipped")]}
STATES |= {"c": RunState.CANCELLED, "q": RunState.QUEUED, "w": RunState.WITHDRAWN}

# Each case: the rows, newest last (r: running, t: waits for its next attempt, m: waits for a manual retry, b: blocked);
# which of them is the last one, which are under way, and the outcomes.
CASES = {
    "a job that never ran": ("", None, [], ""),
    "outcomes in the order of the fires": ("sfkc", 3, [], "sfkc"),
    "a run under way has no outcome yet": ("sfr", 2, [2], "sf"),
    "a run that waits for its next attempt is under way": ("st", 1, [1], "s"),
    "a run that waits for its first attempt is not": ("sfq", 1, [], "sf"),
    "nor is a run that a pause took back": ("sw", 0, [], "s"),
    "nor is a run that a person retries, before its next attempt": ("sm", 0, [], "s"),
    "a blocked run has an outcome, but has not begun": ("sfb", 1, [], "sfb"),
    "an older run is under way beside newer ones that ended": ("rsrs", 3, [0, 2], "ss"),
    "only the newest outcomes": ("fssssssssk", 9, [], "sssssssk"),
    "runs under way take no outcome's room": ("sssssssskrrr", 11, [9, 10, 11], "sssssssk"),
}


def _row(letter: str, number: int) -> Run:
    queued = run(NOW + number)
    if letter in STATES:
        return replace(queued, state=STATES[letter])
    if letter == "b":
        return replace(queued, blocked=Blocked(queued.id, ("parent",)))
    under_way = claimed(queued, "executor", NOW, 30_000)
    if letter == "m":
        return replace(under_way, state=RunState.QUEUED, budget_from=1, budget_at=NOW)
    return under_way if letter == "r" else replace(under_way, state=RunState.RETRYING)


@pytest.mark.parametrize("case", CASES)
def test_the_newest_rows_say_how_a_job_fares(case: str) -> None:
    letters, last, running, outcomes = CASES[case]
    rows = [_row(letter, number) for number, letter in enumerate(letters)]
    expected = Recent(None if last is None else rows[last], tuple(rows[number].id for number in running), outcomes)
    assert recent_of(rows[::-1]) == expected


def test_eight_outcomes_are_complete_beside_four_runs_under_way() -> None:
    assert ROWS == OUTCOMES + 4
