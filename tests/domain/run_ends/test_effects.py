"""The effects of the end of a run, as its row and its job's row decide them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Intent, Job, JobStatus, Verb
from timeball.domain.model.jobs.job_states import concluded, new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.terms.notify import Notify
from timeball.domain.run_ends.effects import concludes, final_status, frees_slots, releases
from timeball.domain.run_ends.notices import may_notify
from timeball.domain.time.schedule import At, Every

NOW = 1_000
KEY = JobKey("acme", "job")
RUN = Run(RunId(KEY, 500, Origin.SCHEDULE), RunState.SUCCEEDED, 1, "normal", 0, 500, 500)
OTHER = replace(RUN.id, fire_at=400)
ONCE = replace(new_job(spec("job", At(500)), 0, Shards(1)), final_fire_at=500)
OFTEN = new_job(spec("job", Every(100, 0)), 0, Shards(1))

AT_ITS_END = {"next_fire_at": None, "final_fire_at": 500}

PAUSED, FAILED, COMPLETED, CANCELLED = JobStatus.PAUSED, JobStatus.FAILED, JobStatus.COMPLETED, JobStatus.CANCELLED


# Each case: the job, the differences of the job and the run, and the job's status afterwards.
STATUSES: dict[str, tuple[Job, dict[str, Any], dict[str, Any], JobStatus | None]] = {
    "one of many": (OFTEN, {}, {}, None),
    "the final one of many": (OFTEN, AT_ITS_END, {}, COMPLETED),
    "the final one of many, failed": (OFTEN, AT_ITS_END, {"state": RunState.FAILED}, COMPLETED),
    "the final one, its job paused": (OFTEN, {**AT_ITS_END, "status": PAUSED}, {}, None),
    "the final one, not all written": (OFTEN, {"final_fire_at": 500}, {}, None),
    "the only one": (ONCE, {}, {}, COMPLETED),
    "the only one, its job paused": (ONCE, {"status": PAUSED}, {}, COMPLETED),
    "the only one, failed": (ONCE, {}, {"state": RunState.FAILED}, FAILED),
    "the only one, cancelled": (ONCE, {}, {"state": RunState.CANCELLED}, CANCELLED),
    "the only one, taken over by one by hand, which lives": (
        ONCE,
        {},
        {"state": RunState.CANCELLED, "reason": Reason.REPLACED},
        FAILED,
    ),
    "the only one, tried again by hand": (ONCE, {"status": FAILED}, {}, COMPLETED),
    "the only one, cancelled while it was tried again": (
        ONCE,
        {"status": FAILED},
        {"state": RunState.CANCELLED},
        CANCELLED,
    ),
    "the only one, failed once more": (ONCE, {"status": FAILED}, {"state": RunState.FAILED}, None),
    "the only one, of another fire": (ONCE, {"final_fire_at": 501}, {}, None),
    "a job that knows": (ONCE, {"status": COMPLETED}, {}, None),
    "a cancelled job": (ONCE, {"status": CANCELLED}, {}, None),
    "beside the only one": (ONCE, {}, {"id": replace(RUN.id, origin=Origin.MANUAL)}, None),
    "a range over the final fire": (OFTEN, AT_ITS_END, {"id": OTHER, "last_fire_at": 600}, COMPLETED),
    "live": (ONCE, {}, {"state": RunState.RETRYING}, None),
    "the only one, taken back": (ONCE, {"status": PAUSED}, {"state": RunState.WITHDRAWN}, None),
}

BEING_CANCELLED = {"status": CANCELLED, "intent": Intent(Verb.CANCEL, 1, None)}

# Each case: the differences of the job and the run, and whether the run has lost the lock.
RELEASES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "the holder": ({"holder": RUN.id, "next_holder": OTHER}, {}, True),
    "who is parked": ({"holder": OTHER, "next_holder": RUN.id}, {}, True),
    "another holds it": ({"holder": OTHER}, {}, False),
    "the holder, live": ({"holder": RUN.id}, {"state": RunState.RETRYING}, False),
    "the holder, taken back by a pause": ({"holder": RUN.id}, {"state": RunState.WITHDRAWN}, True),
    "the holder and final one": ({**AT_ITS_END, "holder": RUN.id}, {}, True),
    "a job that is being cancelled": ({**BEING_CANCELLED, "holder": RUN.id}, {}, False),
    "a job that its run has cancelled: others may go on": (
        {"status": CANCELLED, "holder": RUN.id},
        {"state": RunState.CANCELLED},
        True,
    ),
}

IN_LINE = Waiting("rate", Permit.TOKEN)

# Each case: the differences of the run, and whether it may have a slot that it no longer needs.
FREES: dict[str, tuple[dict[str, Any], bool]] = {
    "ended without limits": ({}, False),
    "ended with a slot": ({"slots": ("a",)}, True),
    "running with a slot": ({"slots": ("a",), "state": RunState.RUNNING}, False),
    "queued in another line with a slot": ({"slots": ("a",), "state": RunState.QUEUED, "waiting": IN_LINE}, False),
    "queued again with a slot": ({"slots": ("a",), "state": RunState.QUEUED}, True),
}

# Each case: the differences of the job's spec and the run, and whether a notice or a pause may follow.
NOTIFIES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "a job without notices": ({}, {"state": RunState.FAILED}, False),
    "a job with notices": ({"notify": Notify()}, {}, True),
    "a job that failures pause": ({"pause_after_failures": 2}, {}, True),
    "a job with notices, the run is live": ({"notify": Notify()}, {"state": RunState.RETRYING}, False),
}


@pytest.mark.parametrize("case", FREES)
def test_a_run_frees_the_slots_that_it_no_longer_needs(case: str) -> None:
    of_run, is_freed = FREES[case]
    assert frees_slots(replace(RUN, **of_run), None) is is_freed


@pytest.mark.parametrize("case", NOTIFIES)
def test_only_the_ends_of_jobs_that_ask_for_it_are_notified(case: str) -> None:
    of_spec, of_run, is_notified = NOTIFIES[case]
    job = replace(OFTEN, spec=replace(OFTEN.spec, **of_spec))
    assert may_notify(replace(RUN, **of_run), job) is is_notified


@pytest.mark.parametrize("decides", [concludes, releases, may_notify])
def test_the_end_of_a_run_whose_job_is_gone_changes_no_job(decides: Callable[[Run, Job | None], bool]) -> None:
    assert not decides(RUN, None)


@pytest.mark.parametrize("case", STATUSES)
def test_an_open_job_ends_with_its_final_run(case: str) -> None:
    job, of_job, of_run, status = STATUSES[case]
    assert final_status(replace(RUN, **of_run), replace(job, **of_job)) is status


@pytest.mark.parametrize("case", RELEASES)
def test_a_run_that_is_over_keeps_no_lock(case: str) -> None:
    of_job, of_run, is_released = RELEASES[case]
    assert releases(replace(RUN, **of_run), replace(OFTEN, **of_job)) is is_released


def test_a_job_that_ends_leaves_the_due_index_unless_a_change_is_unsettled() -> None:
    ended = concluded(replace(ONCE, due_at=500), COMPLETED, NOW)
    assert ended == replace(ONCE, status=COMPLETED, updated_at=NOW, next_fire_at=None, due_at=None)
    changed = replace(ONCE, due_at=500, status=PAUSED, intent=Intent(Verb.PAUSE, 1, None))
    assert concluded(changed, COMPLETED, NOW) == replace(changed, status=COMPLETED, updated_at=NOW, next_fire_at=None)
