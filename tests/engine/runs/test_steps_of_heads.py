"""The next step with a run that has items: the whole table."""

import pytest

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import FanOut
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.runs.fan_out import HeadStep, next_step

NOW = parse_instant("2026-11-21T09:30:00Z")
KEY = JobKey("acme", "job")
JOB = Job(JobSpec(KEY, Schedule(Every(60, NOW)), None), shard=0, created_at=0, updated_at=0)
PAUSED = evolve(JOB, status=JobStatus.PAUSED)
CANCELLED = evolve(JOB, status=JobStatus.CANCELLED)
RUN_ID = RunId(KEY, NOW, Origin.SCHEDULE)


def _head(state: RunState, released: int = 0, over: int = 0) -> Run:
    fan = FanOut(RUN_ID, count=3, released=released, over=over)
    return Run(RUN_ID, state, 1, "normal", 0, NOW, NOW, due_at=NOW, fan=fan)


QUEUED, RUNNING = _head(RunState.QUEUED), _head(RunState.RUNNING)

CASES = {
    "a pause took it back": (_head(RunState.WITHDRAWN), JOB, HeadStep.DROP),
    "a pause took it back, and a cancel withdraws the pause": (_head(RunState.WITHDRAWN), CANCELLED, HeadStep.DROP),
    "it is about to begin": (QUEUED, JOB, HeadStep.BEGIN),
    "its job was cancelled before it began": (QUEUED, CANCELLED, HeadStep.CANCEL),
    "its job is gone": (QUEUED, None, HeadStep.CANCEL),
    "its job was paused before it began": (QUEUED, PAUSED, HeadStep.WITHDRAW),
    "it was retried in spite of the pause": (evolve(QUEUED, attempt=1), PAUSED, HeadStep.BEGIN),
    "no item was sent": (RUNNING, JOB, HeadStep.RELEASE),
    "some items were sent": (_head(RunState.RUNNING, 2), JOB, HeadStep.RELEASE),
    "its job was paused after it began": (RUNNING, PAUSED, HeadStep.RELEASE),
    "all items were sent": (_head(RunState.RUNNING, 3), JOB, HeadStep.WATCH),
    "some items have ended": (_head(RunState.RUNNING, 3, 2), JOB, HeadStep.WATCH),
    "all items have ended": (_head(RunState.RUNNING, 3, 3), JOB, HeadStep.CONCLUDE),
    "it was asked to stop": (evolve(RUNNING, cancel_requested=True), JOB, HeadStep.STOP),
    "its job was cancelled": (_head(RunState.RUNNING, 3, 2), CANCELLED, HeadStep.STOP),
    "its job is gone while items run": (_head(RunState.RUNNING, 3, 2), None, HeadStep.STOP),
}


@pytest.mark.parametrize("case", CASES)
def test_a_head_takes_the_step_that_its_row_and_its_job_allow(case: str) -> None:
    head, job, step = CASES[case]
    assert head.fan is not None
    assert next_step(head, head.fan, job) is step
