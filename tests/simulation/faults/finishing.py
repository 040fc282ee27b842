"""Faults of the end of an attempt: of its write, its follow-ups, its message, and of who may write it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import timeball.engine.callback as reporting
import timeball.engine.claim as claims
import timeball.engine.finish as finishing
import timeball.engine.follow_up as following
import timeball.engine.judge as judging
import timeball.engine.resend as resending
from tests.simulation.faults.patching import Fault, Patch, overwrite_job
from timeball.domain.ids import RunId
from timeball.domain.job import Job, guarded
from timeball.domain.outcome import after_attempt
from timeball.domain.reason import Reason
from timeball.domain.run import Run, RunState, due_again, ended
from timeball.engine.follow_up import conclude, follow_up
from timeball.engine.world import World
from timeball.ports.errors import UnavailableError
from timeball.ports.jobs import Conclusion
from timeball.testing.memory_queue import MemoryQueue


def _without_the_attempt_fence(patch: Patch) -> None:
    """An executor that is awake stops before its lease does: it takes one that slept while its target answered."""
    patch.setattr(finishing, "owns", lambda row, _: row.state is RunState.RUNNING)


def _follow_ups_are_left_out(patch: Patch) -> None:
    for module in (finishing, claims, resending):
        patch.setattr(module, "follow_up", lambda *_: None)


def _the_message_goes_before_the_follow_ups(patch: Patch) -> None:
    def whatever_comes_of_it(world: World, over: Any) -> None:
        with suppress(UnavailableError):
            follow_up(world, over)

    patch.setattr(finishing, "follow_up", whatever_comes_of_it)


def _a_zombie_deletes_its_message(patch: Patch) -> None:
    """The queue keeps that rule too: a receipt that is not the newest deletes nothing. So here neither keeps it."""
    patch.setattr(finishing, "_may_go", lambda *_: True)
    patch.setattr(MemoryQueue, "_newest", lambda queue, receipt: queue._received.get(receipt))


def _the_due_key_is_dropped(patch: Patch) -> None:
    """It is lost only with an executor that dies before its follow-ups, and whose message is dead: hence a rule."""

    def without(*args: Any, **kwargs: Any) -> Run:
        after = after_attempt(*args, **kwargs)
        return replace(after, due_at=None) if after.is_terminal else after

    patch.setattr(finishing, "after_attempt", without)


def _a_retry_frees_the_guard(patch: Patch) -> None:
    write = finishing._write

    def writing(world: World, *args: Any) -> list[Run | None]:
        rows = write(world, *args)
        for row in rows:
            if row is not None and row.state is RunState.RETRYING:
                overwrite_job(world, row.id.job, partial(freed, row.id), world.clock.now())
        return rows

    def freed(run: RunId, job: Job) -> Job | None:
        return guarded(job, None, job.parked) if job.holder == run else None

    patch.setattr(finishing, "_write", writing)


def _concluding(change: Any) -> Any:
    """Conclude as the change of a conclusion and of its job, as it stands, has it; None of it: not at all."""

    def apply(patch: Patch) -> None:
        def concluding(world: World, conclusions: Sequence[Conclusion]) -> None:
            jobs = world.store.jobs.read([one.job for one in conclusions])
            changed = [change(one, job) for one, job in zip(conclusions, jobs, strict=True) if job is not None]
            conclude(world, [one for one in changed if one is not None])

        patch.setattr(following, "conclude", concluding)

    return apply


def _whatever_its_final_fire_is(conclusion: Conclusion, job: Job) -> Conclusion:
    """A conclusion is drawn from the job as it was claimed, so it asks nobody else whether that fire is still final."""
    return replace(conclusion, fire_at=job.final_fire_at or conclusion.fire_at)


def _not_while_it_is_paused(conclusion: Conclusion, job: Job) -> Conclusion | None:
    return conclusion if job.paused_at is None else None


def _whatever_its_status_is(patch: Patch) -> None:
    def concluding(world: World, conclusions: Sequence[Conclusion]) -> None:
        for one in conclusions:

            def after(job: Job, one: Conclusion = one) -> Job | None:
                return replace(job, status=one.status, due_at=None) if job.final_fire_at == one.fire_at else None

            overwrite_job(world, one.job, after, one.at)

    patch.setattr(following, "conclude", concluding)


def _the_judge_fails_what_is_running(patch: Patch) -> None:
    judged = judging._judged

    def failing(run: Run, job: Job | None, now: int, world: World) -> Run | None:
        if run.state is not RunState.RUNNING:
            return judged(run, job, now, world)
        return due_again(ended(run, RunState.FAILED, now, Reason.UNDELIVERABLE), now)

    patch.setattr(judging, "_judged", failing)


def _the_reaper_ignores_the_lease(patch: Patch) -> None:
    """A heartbeat moves the lease on and leaves the due key: whoever goes by that alone reaps what is well."""
    patch.setattr(resending, "is_reapable", lambda run, *_: run.state is RunState.RUNNING and run.callback is not None)


def _a_report_leaves_no_due_key(patch: Patch) -> None:
    """Left as it is, the key at the lease's end would bring the scan too, only late: so it takes that one away."""
    patch.setattr(reporting, "due_again", lambda run, _: replace(run, due_at=None))


FAULTS = {
    "finish without the attempt fence": Fault(
        _without_the_attempt_fence,
        "whoever finishes an attempt holds it",
        meeting="an execution that wakes while another is at its run",
    ),
    "follow-ups are left out": Fault(_follow_ups_are_left_out, "a job ends with its final run"),
    "a message is deleted before the follow-ups": Fault(
        _the_message_goes_before_the_follow_ups, "a job ends with its final run", 6
    ),
    "a message is deleted by a zombie": Fault(
        _a_zombie_deletes_its_message,
        "whose last message goes is found again",
        meeting="an execution that wakes while another is at its run",
    ),
    "a callback's finish has no due key": Fault(
        _a_report_leaves_no_due_key, "only the scan drops the due key of a run that is over"
    ),
    "a finish drops a due key that it found": Fault(
        _the_due_key_is_dropped, "only the scan drops the due key of a run that is over", 3
    ),
    "the guard is freed while its holder is retrying": Fault(
        _a_retry_frees_the_guard, "guarded runs come one by one", 16
    ),
    "a one-off is completed by an older fire": Fault(
        _concluding(_whatever_its_final_fire_is),
        "each due instant has one row",
        meeting="the only execution, and another instant",
    ),
    "a job's end is refused while it is paused": Fault(
        _concluding(_not_while_it_is_paused), "a job ends with its final run", 36
    ),
    "cancelled is overwritten by a follow-up": Fault(_whatever_its_status_is, "cancelled stays cancelled", 203),
    "a live run is failed by the judge of dead letters": Fault(
        _the_judge_fails_what_is_running, "nobody cuts a lease short", 17
    ),
    "a reaper ignores the lease": Fault(_the_reaper_ignores_the_lease, "nobody cuts a lease short"),
}
