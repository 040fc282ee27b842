"""What the end of a run entails, by its row and by its job's."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.job import Intent, Job, JobStatus, Verb
from timeball.domain.model.new_job import new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.effects import Conclusion, Effect, Release, effects
from timeball.domain.time.schedule import At, Every

NOW = 1_000
KEY = JobKey("acme", "job")
RUN = Run(RunId(KEY, 500, Origin.SCHEDULE), RunState.SUCCEEDED, 1, "normal", 0, 500, 500)
OTHER = replace(RUN.id, fire_at=400)
ONCE = replace(new_job(spec("job", At(500)), 0, 1), final_fire_at=500)
OFTEN = new_job(spec("job", Every(100, 0)), 0, 1)

PENDING, PAUSED, FAILED = JobStatus.PENDING, JobStatus.PAUSED, JobStatus.FAILED
OPEN = (PENDING, PAUSED)


def concludes(status: JobStatus, *open_statuses: JobStatus) -> Conclusion:
    return Conclusion(KEY, 500, status, NOW, open_statuses)


# Of each: the job, what is different about it and about the run, and the effects.
CASES: dict[str, tuple[Job, dict[str, Any], dict[str, Any], list[Effect]]] = {
    # Of its job's end:
    "one of many": (OFTEN, {}, {}, []),
    "the final one of many": (OFTEN, {"final_fire_at": 500}, {}, [concludes(JobStatus.COMPLETED, PENDING)]),
    "the final one of many, failed": (
        OFTEN,
        {"final_fire_at": 500},
        {"state": RunState.FAILED},
        [concludes(JobStatus.COMPLETED, PENDING)],
    ),
    "the final one, read while its job was paused": (
        OFTEN,
        {"final_fire_at": 500, "status": PAUSED},
        {},
        [concludes(JobStatus.COMPLETED, PENDING)],
    ),
    "the only one": (ONCE, {}, {}, [concludes(JobStatus.COMPLETED, *OPEN, FAILED)]),
    "the only one, failed": (ONCE, {}, {"state": RunState.FAILED}, [concludes(FAILED, *OPEN)]),
    "the only one, cancelled": (ONCE, {}, {"state": RunState.CANCELLED}, [concludes(JobStatus.CANCELLED, *OPEN)]),
    "the only one, taken over by one by hand, which lives": (
        ONCE,
        {},
        {"state": RunState.CANCELLED, "reason": Reason.REPLACED},
        [concludes(FAILED, *OPEN)],
    ),
    "the only one, tried again by hand": (
        ONCE,
        {"status": FAILED},
        {},
        [concludes(JobStatus.COMPLETED, *OPEN, FAILED)],
    ),
    "the only one, failed once more": (ONCE, {"status": FAILED}, {"state": RunState.FAILED}, []),
    "a job that knows": (ONCE, {"status": JobStatus.COMPLETED}, {}, []),
    "beside the only one": (ONCE, {}, {"id": replace(RUN.id, origin=Origin.MANUAL)}, []),
    "a range over the final fire": (
        OFTEN,
        {"final_fire_at": 500},
        {"id": OTHER, "last_fire_at": 600},
        [concludes(JobStatus.COMPLETED, PENDING)],
    ),
    "live": (ONCE, {"holder": RUN.id}, {"state": RunState.RETRYING}, []),
    # Of the guard:
    "the holder": (OFTEN, {"holder": RUN.id, "parked": OTHER}, {}, [Release(RUN.id)]),
    "who is parked": (OFTEN, {"holder": OTHER, "parked": RUN.id}, {}, [Release(RUN.id)]),
    "another holds it": (OFTEN, {"holder": OTHER}, {}, []),
    "the holder, taken back by a pause": (OFTEN, {"holder": RUN.id}, {"state": RunState.WITHDRAWN}, [Release(RUN.id)]),
    "the only one, taken back": (ONCE, {"status": PAUSED}, {"state": RunState.WITHDRAWN}, []),
    "the holder and final one": (
        OFTEN,
        {"final_fire_at": 500, "holder": RUN.id},
        {},
        [concludes(JobStatus.COMPLETED, PENDING), Release(RUN.id)],
    ),
    # Of a job that cannot go on:
    "a job that is being cancelled": (
        ONCE,
        {"status": JobStatus.CANCELLED, "holder": RUN.id, "intent": Intent(Verb.CANCEL, 1, None)},
        {},
        [],
    ),
    "a job that its run has cancelled: others may go on": (
        ONCE,
        {"status": JobStatus.CANCELLED, "holder": RUN.id},
        {"state": RunState.CANCELLED},
        [Release(RUN.id)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_end_entails_what_the_rows_say(case: str) -> None:
    job, of_job, of_run, entailed = CASES[case]
    assert effects(replace(RUN, **of_run), replace(job, **of_job), NOW) == entailed


def test_an_end_entails_nothing_where_its_job_is_gone() -> None:
    assert effects(RUN, None, NOW) == []
