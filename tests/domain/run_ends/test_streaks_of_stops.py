"""Streaks of runs that their parents stop, as a job's row and its newest runs decide them."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.run_ends.notices import end_of, has_begun, is_stopped, notice_of_stop, stopped
from timeball.domain.time.schedule import Every

KEY = JobKey("acme", "job")
TOLD = HttpTarget("https://told.example/blocked")
JOB = with_spec(new_job(spec("job", Every(100, 0)), 0, Shards(1)), notify=Notify(on_blocked=TOLD))
PARENT = RunId(JobKey("acme", "parent"), 0, Origin.SCHEDULE)


def a_run(kind: str, place: int) -> Run:
    """Return a run of a kind: a letter of KINDS; its place gives its fire time."""
    run = Run(RunId(KEY, place, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, place, place)
    return replace(run, **KINDS[kind])


KINDS: dict[str, dict[str, Any]] = {
    "k": {"state": RunState.SKIPPED, "reason": Reason.PARENT_SKIPPED},
    "g": {"state": RunState.SKIPPED, "reason": Reason.PARENT_CANCELLED},
    "u": {"state": RunState.SKIPPED, "reason": Reason.RULE_UNMET},
    "t": {"state": RunState.SKIPPED, "reason": Reason.DEPENDENCY_TIMEOUT},
    "b": {"reason": Reason.BLOCKED, "blocked": Blocked(PARENT, ("parent",))},
    "s": {"state": RunState.SUCCEEDED, "attempt": 1},
    "f": {"state": RunState.FAILED, "attempt": 1},
    "r": {"state": RunState.RUNNING, "attempt": 1},
    "x": {"state": RunState.CANCELLED, "attempt": 1},
    "o": {"state": RunState.SKIPPED, "reason": Reason.PARENT_SKIPPED, "last_fire_at": 9},  # a one-off's
    "c": {"state": RunState.SKIPPED, "reason": Reason.CALENDAR},
    "n": {"state": RunState.CANCELLED},
    "w": {"reason": Reason.WAITING_FOR_PARENTS, "waits": True},
}

STOPS, BEGINS = "kgutb", "sfrx"


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_stopped_by_its_parents_or_has_begun_or_neither(kind: str) -> None:
    run = a_run(kind, 1)
    assert (is_stopped(run), has_begun(run)) == (kind in STOPS, kind in BEGINS)
    backfilled = replace(run, id=replace(run.id, origin=Origin.BACKFILL))
    assert (is_stopped(backfilled), has_begun(backfilled)) == (False, False)


# Each case: the newest runs, the oldest first, at the places 1, 2, …; the place of the run that is news; the places
# of the runs that the job names before and afterwards (0: none).
STREAKS: dict[str, tuple[str, int, int, int]] = {
    "too few": ("kk", 2, 0, 0),
    "enough": ("kkk", 3, 0, 3),
    "of several reasons": ("gbt", 3, 0, 3),
    "too few since a run began": ("skk", 3, 0, 0),
    "the streak goes on": ("kkkk", 4, 3, 3),
    "a run begins": ("kks", 3, 2, 0),
    "a failed run has begun too": ("kkf", 3, 2, 0),
    "a skip shows that a run began meanwhile": ("krk", 3, 1, 0),
    "an earlier run ends late": ("skk", 1, 3, 3),
    "a run ends after another whole streak has come": ("kskkk", 2, 1, 5),
    "the run that it names begins after all": ("kks", 3, 3, 0),
    "one that it does not name begins after all": ("ksk", 2, 3, 3),
}


@pytest.mark.parametrize("case", STREAKS)
def test_a_streak_is_noted_once_and_ends_with_a_run_that_begins(case: str) -> None:
    kinds, place, before, after = STREAKS[case]
    runs = [a_run(kind, number) for number, kind in enumerate(kinds, 1)]
    job = replace(JOB, stopped=end_of(a_run("k", before)) if before else None)
    noted = stopped(job, runs[:-4:-1], runs[place - 1]).stopped
    assert (0 if noted is None else noted.run.fire_at) == after


def test_without_a_wish_no_streak_is_noted() -> None:
    job = with_spec(JOB, notify=Notify(on_failure=TOLD))
    runs = [a_run("k", place) for place in (3, 2, 1)]
    assert stopped(job, runs, runs[0]) == job
    assert notice_of_stop(replace(job, stopped=end_of(runs[0]))) is None
    assert notice_of_stop(JOB) is None
