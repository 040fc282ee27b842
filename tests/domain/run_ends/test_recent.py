"""The state of a job as the newest rows of its ledger show it, as a table of cases."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.rows import NOW, job, run
from timeball.domain.model.jobs.job import Job, JobStatus, changed_by, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.tenants.actor import NO_ACTOR, Action
from timeball.domain.model.terms.dependency import Blocked, Parent
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.run_ends.recent import OUTCOMES, ROWS, Recent, may_have_moved, recent_of

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


def _job(**changes: Any) -> Job:
    return replace(changed_by(job(), Action.PATCH, NO_ACTOR, NOW), **changes)


# Each case: a job, its newest row, and whether the job may differ from what its newest change left.
MOVES: dict[str, tuple[Job, Run | None, bool]] = {
    "a job that waits for its first fire": (_job(), None, False),
    "a fire was planned, and its row is not seen yet": (_job(next_fire_at=NOW + 1), None, True),
    "a run that the change itself made": (_job(next_fire_at=NOW + 1), replace(run(NOW), created_at=NOW), False),
    "the change made it, and its time has come": (_job(), replace(run(NOW + 1), created_at=NOW), True),
    "that run was claimed": (_job(), replace(run(NOW), created_at=NOW, revision=2), True),
    "a run of a later fire": (_job(), replace(run(NOW), created_at=NOW + 1), True),
    "a job that its failures paused": (_job(status=JobStatus.PAUSED), None, True),
    "a job whose task may change": (with_spec(_job(), task=TaskUse("task")), None, True),
    "a job whose parents may end": (with_spec(_job(), depends_on=(Parent("parent"),)), None, True),
}


@pytest.mark.parametrize("case", MOVES)
def test_a_job_that_stands_still_is_known_for_certain(case: str) -> None:
    one, newest, expected = MOVES[case]
    assert may_have_moved(one, newest, NOW + 2) is expected


def test_eight_outcomes_are_complete_beside_four_runs_under_way() -> None:
    assert ROWS == OUTCOMES + 4
