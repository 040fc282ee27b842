"""The state of a job's run before a rerun clears it: under way, or to stay as it is. Tables of cases."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from timeball.domain.dependencies.rerun import is_cleared, is_under_way, stays
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.schedule import At, Every

ONCE = new_job(spec("job", At(500)), 0, Shards(1))
OFTEN = new_job(spec("job", Every(100, 0)), 0, Shards(1))
RUN = Run(RunId(JobKey("acme", "job"), 500, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, 500, 500)
ENDED = {"status": JobStatus.COMPLETED}

# The job, the differences of it and of its run (None: no run), whether the run is under way, and whether it stays.
STATES: dict[str, tuple[Job, dict[str, Any], dict[str, Any] | None, bool, bool]] = {
    "a cycle to come": (OFTEN, {}, None, False, True),
    "queued": (OFTEN, {}, {}, True, False),
    "queued, waiting for parents": (OFTEN, {}, {"waits": True}, False, False),
    "running": (OFTEN, {}, {"state": RunState.RUNNING}, True, False),
    "withdrawn by a pause": (OFTEN, {}, {"state": RunState.WITHDRAWN}, False, True),
    "failed": (OFTEN, {}, {"state": RunState.FAILED}, False, False),
    "skipped by its parents": (
        OFTEN,
        {},
        {"state": RunState.SKIPPED, "reason": Reason.PARENT_SKIPPED},
        False,
        False,
    ),
    "skipped by its calendar": (OFTEN, {}, {"state": RunState.SKIPPED, "reason": Reason.CALENDAR}, False, True),
    "a one-off to come": (ONCE, {}, None, False, True),
    "a one-off that waits": (ONCE, {"waits": True}, None, False, False),
    "a one-off that has failed": (ONCE, {"status": JobStatus.FAILED}, {"state": RunState.FAILED}, False, False),
    "a one-off whose end is not concluded": (ONCE, {}, {"state": RunState.FAILED}, True, True),
    "a one-off that its parents skipped": (
        ONCE,
        {"status": JobStatus.SKIPPED, "skips": Reason.PARENT_SKIPPED},
        None,
        False,
        False,
    ),
    "a one-off that a person skipped": (ONCE, {"status": JobStatus.SKIPPED}, None, False, True),
}


@pytest.mark.parametrize("case", STATES)
def test_a_rerun_clears_only_a_run_that_is_over_and_was_meant_to_run(case: str) -> None:
    job, changes, run_changes, under_way, left = STATES[case]
    job, run = replace(job, **changes), None if run_changes is None else replace(RUN, **run_changes)
    assert (is_under_way(job, run), stays(job, run)) == (under_way, left)


# The job, the mark on it and on its run, and whether the rerun of instant 700 has cleared it.
MARKS: dict[str, tuple[Job, int | None, int | None, bool]] = {
    "never run again": (OFTEN, None, None, False),
    "cleared by an earlier rerun": (OFTEN, None, 600, False),
    "cleared by this rerun": (OFTEN, None, 700, True),
    "cleared by a later rerun": (OFTEN, None, 800, True),
    "a one-off, marked on its job": (ONCE, 700, None, True),
    "a one-off, whose run alone has a mark: a retry": (ONCE, None, 700, False),
}


@pytest.mark.parametrize("case", MARKS)
def test_a_rerun_that_is_repeated_clears_nothing_twice(case: str) -> None:
    job, rerun_at, budget_at, cleared = MARKS[case]
    assert is_cleared(replace(job, rerun_at=rerun_at), replace(RUN, budget_at=budget_at), 700) is cleared
