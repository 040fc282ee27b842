"""Faults of the end of an attempt: of its write, its effects, its message, and of who may write it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import timeball.engine.execution.finish as finishing
import timeball.engine.runs.callback as reporting
import timeball.engine.runs.due_runs as resending
import timeball.engine.runs.on_run_end as ending
import timeball.engine.runs.reconcile_messages as reconciling
from tests.simulation.faults.patching import Fault, Patch, overwrite_job
from timeball.domain.model.attempt import Attempt
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.job import Job, locked
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState, ended
from timeball.domain.model.verdict import Failed, Succeeded
from timeball.domain.policy.effects import Conclusion
from timeball.domain.policy.outcome import after_attempt
from timeball.engine.context import Context
from timeball.engine.runs import manual
from timeball.engine.runs.on_run_end import conclude, on_run_end
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_queue import MemoryQueue


def _without_the_attempt_fence(patch: Patch) -> None:
    """An executor that is awake stops before its lease does: it takes one that slept while its target answered."""
    patch.setattr(finishing, "owns", lambda row, _: row.state is RunState.RUNNING)


def _effects_are_left_out(patch: Patch) -> None:
    patch.setattr(ending, "effects", lambda *_: [])


def _the_message_goes_before_the_effects(patch: Patch) -> None:
    def whatever_comes_of_it(
        context: Context, jobs: Mapping[JobKey, Job | None], swaps: Sequence[Swap[Run]], now: int
    ) -> list[Swapped[Run]]:
        swapped = context.store.runs.swap(swaps, now)
        with suppress(UnavailableError):
            on_run_end(context, [(row, jobs[row.id.job]) for one in swapped if (row := one.row)])
        return swapped

    patch.setattr(finishing, "change_runs", whatever_comes_of_it)


def _the_scan_drops_the_key_before_the_effects(patch: Patch) -> None:
    """Who ends a run carries the effects out too: they are lost only where that one dies, or cannot."""
    patch.setattr(resending, "on_run_end", lambda *_: None)


def _a_zombie_deletes_its_message(patch: Patch) -> None:
    """The queue keeps that rule too: a receipt that is not the newest deletes nothing. So here neither keeps it."""
    patch.setattr(finishing, "_may_go", lambda *_: True)
    patch.setattr(MemoryQueue, "_newest", lambda queue, receipt: queue._received.get(receipt))


def _the_due_key_is_dropped(patch: Patch) -> None:
    """It is lost only with an executor that dies before its effects, and whose message is dead: hence a rule."""

    def without(*args: Any, **kwargs: Any) -> Run:
        after = after_attempt(*args, **kwargs)
        return replace(after, due_at=None) if after.is_terminal else after

    patch.setattr(finishing, "after_attempt", without)


def _a_retry_frees_the_guard(patch: Patch) -> None:
    write = finishing._write

    def writing(context: Context, *args: Any) -> list[Run | None]:
        rows = write(context, *args)
        for row in rows:
            if row is not None and row.state is RunState.RETRYING:
                overwrite_job(context, row.id.job, partial(freed, row.id), context.clock.now())
        return rows

    def freed(run: RunId, job: Job) -> Job | None:
        return locked(job, None, job.parked) if job.holder == run else None

    patch.setattr(finishing, "_write", writing)


def _concluding(change: Any) -> Any:
    """Conclude as the change of a conclusion and of its job, as it stands, has it; None of it: not at all."""

    def apply(patch: Patch) -> None:
        def concluding(context: Context, conclusions: Sequence[Conclusion]) -> None:
            jobs = context.store.jobs.read([one.job for one in conclusions])
            changed = [change(one, job) for one, job in zip(conclusions, jobs, strict=True) if job is not None]
            conclude(context, [one for one in changed if one is not None])

        patch.setattr(ending, "conclude", concluding)

    return apply


def _whatever_its_final_fire_is(conclusion: Conclusion, job: Job) -> Conclusion:
    """A conclusion is drawn from the job as it was claimed, so it asks nobody else whether that fire is still final."""
    return replace(conclusion, fire_at=job.final_fire_at or conclusion.fire_at)


def _not_while_it_is_paused(conclusion: Conclusion, job: Job) -> Conclusion | None:
    return conclusion if job.paused_at is None else None


def _whatever_its_status_is(patch: Patch) -> None:
    def concluding(context: Context, conclusions: Sequence[Conclusion]) -> None:
        for one in conclusions:

            def after(job: Job, one: Conclusion = one) -> Job | None:
                return replace(job, status=one.status, due_at=None) if job.final_fire_at == one.fire_at else None

            overwrite_job(context, one.job, after, one.at)

    patch.setattr(ending, "conclude", concluding)


def _a_dead_letter_fails_what_is_running(patch: Patch) -> None:
    without_message = reconciling._without_message

    def failing(run: Run, job: Job | None, now: int, context: Context) -> Run | None:
        if run.state is not RunState.RUNNING:
            return without_message(run, job, now, context)
        return ended(run, RunState.FAILED, now, Guarantor.MESSAGE, Reason.UNDELIVERABLE)

    patch.setattr(reconciling, "_without_message", failing)


def _the_reaper_ignores_the_lease(patch: Patch) -> None:
    """A heartbeat moves the lease on and leaves the due key: whoever goes by that alone reaps what is well."""
    patch.setattr(resending, "is_reapable", lambda run, *_: run.state is RunState.RUNNING and run.callback is not None)


def _ends_without_a_message_are_as_if_there_was_one(patch: Patch) -> None:
    def with_a_message(
        run: Run, job: Job, attempt: Attempt, verdict: Succeeded | Failed, now: int, _: Guarantor
    ) -> Run:
        return after_attempt(run, job, attempt, verdict, now, Guarantor.MESSAGE)

    def ended_with_a_message(run: Run, state: RunState, now: int, _: Guarantor, reason: Reason) -> Run:
        return ended(run, state, now, Guarantor.MESSAGE, reason)

    patch.setattr(reporting, "after_attempt", with_a_message)
    patch.setattr(manual, "ended", ended_with_a_message)


FAULTS = {
    "finish without the attempt fence": Fault(
        _without_the_attempt_fence,
        "whoever finishes an attempt holds it",
        meeting="an execution that wakes while another is at its run",
    ),
    "effects are left out": Fault(_effects_are_left_out, "a job ends with its final run"),
    "a message is deleted before the effects": Fault(
        _the_message_goes_before_the_effects, "a job ends with its final run", 6
    ),
    "a due key is dropped before the effects": Fault(
        _the_scan_drops_the_key_before_the_effects, "a due key is dropped after the effects"
    ),
    "a message is deleted by a zombie": Fault(
        _a_zombie_deletes_its_message,
        "whose last message goes is found again",
        meeting="an execution that wakes while another is at its run",
    ),
    "an end without a message is written as if it had one": Fault(
        _ends_without_a_message_are_as_if_there_was_one, "an end without a message is due at once"
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
    "cancelled is overwritten by a conclusion": Fault(
        _whatever_its_status_is, "cancelled stays cancelled", meeting="the only execution, and a cancel"
    ),
    "a live run is failed by its dead letter": Fault(
        _a_dead_letter_fails_what_is_running, "nobody cuts a lease short", 17
    ),
    "a reaper ignores the lease": Fault(_the_reaper_ignores_the_lease, "nobody cuts a lease short"),
}
