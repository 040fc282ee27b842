"""Faults at the end of an attempt: of its write, its effects, its message, and of the fence around the write."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import timeball.engine.runs.due_runs as resending
from tests.simulation.faults.hands import (
    Fault,
    both,
    given,
    handed,
    instead,
    overwrite_job,
    overwritten,
    through,
    without,
)
from timeball.domain.attempts.due import is_reapable
from timeball.domain.attempts.retry import after_attempt
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, JobStatus, locked
from timeball.domain.model.jobs.job_states import concluded
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import due_again, ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.run_ends.effects import final_status, releases
from timeball.engine.context import Context
from timeball.engine.execution.finish import Result, finish
from timeball.engine.execution.in_flight import owns
from timeball.engine.runs import effects
from timeball.engine.runs.effects import apply_effects, change_runs
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_queue import MemoryQueue


def _despite_failure(
    context: Context, jobs: Mapping[RunId, Job | None], swaps: Sequence[Swap[Run]], now: int
) -> list[Swapped[Run]]:
    answers = context.store.runs.swap(swaps, now) if swaps else []
    with suppress(UnavailableError):
        apply_effects(context, [(one.row, jobs[one.row.id]) for one in answers if one.row])
    return answers


def _lets_every_message_go(context: Context, results: Sequence[Result]) -> list[bool]:
    finish(context, results)
    return [True] * len(results)


_RECEIVE = MemoryQueue.receive


def _each_on_its_own(*args: Any, **kwargs: Any) -> list[Delivery]:
    return [replace(delivery, together=1) for delivery in _RECEIVE(*args, **kwargs)]


def _drops_the_due_key(*args: Any, **why: Any) -> Run:
    """Effects are lost only if the executor dies before them, and its message is given up. So a rule finds it."""
    after = after_attempt(*args, **why)
    return replace(after, due_at=None) if after.is_terminal else after


def _freeing_the_guard_of_retries(context: Context) -> Context:
    def swap(swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        answers = context.store.runs.swap(swaps, now)
        for run in [one.row.id for one in answers if one.row is not None and one.row.state is RunState.RETRYING]:
            overwrite_job(context, run.job, lambda job, run=run: freed(job, run), now)  # type: ignore[misc]
        return answers

    def freed(job: Job, run: RunId) -> Job | None:
        return locked(job, None, job.next_holder) if job.holder == run else None

    return through(context, "runs.swap", swap)


def _concludes(swap: Swap[Job]) -> bool:
    return swap.before.is_open and not swap.after.is_open and swap.after.status is not JobStatus.CANCELLED


def _with_any_final_fire(standing: Job, swap: Swap[Job]) -> Job | None:
    """A conclusion is drawn from the job as it was claimed, so nothing checks whether that fire is still final."""
    return concluded(standing, swap.after.status, swap.after.updated_at) if standing.is_open else None


def _not_while_it_is_paused(run: Run, job: Job) -> JobStatus | None:
    return final_status(run, job) if job.paused_at is None else None


def _in_any_status(standing: Job, swap: Swap[Job]) -> Job | None:
    is_final = standing.final_fire_at == swap.after.final_fire_at
    return replace(standing, status=swap.after.status, due_at=None) if is_final else None


def _fails_running_runs(run: Run, *due: Any) -> Run:
    """Only a message that was given up gives a running run a due key, because a scan moves an existing one."""
    if run.state is not RunState.RUNNING or run.due_at is not None:
        return due_again(run, *due)
    return ended(run, RunState.FAILED, due[0], Guarantor.MESSAGE, Reason.UNDELIVERABLE)


def _as_with_a_message(run: Run, state: RunState, now: int, _: Guarantor, *why: Any, **more: Any) -> Run:
    return ended(run, state, now, Guarantor.MESSAGE, *why, **more)


FAULTS = {
    # A running executor stops before its lease ends. So the fault needs one that slept while its target answered.
    "finish without the attempt fence": Fault(
        instead(owns, lambda row, _: row.state is RunState.RUNNING),
        "only the holder of an attempt finishes it",
        meeting="an execution that wakes while another one has its run",
    ),
    "effects are left out": Fault(
        both(instead(final_status, lambda *_: None), without(effects, "EFFECTS", releases)),
        "a job ends with its final run",
        meeting="an operation that takes long, while a run that it retries fails again",
    ),
    "a message is deleted before the effects": Fault(
        instead(change_runs, _despite_failure), "a job ends with its final run", 100
    ),
    # The process that ends a run carries the effects out too: they are lost only if it dies, or cannot.
    "a due key is dropped before the effects": Fault(
        instead(apply_effects, lambda *_: None, within=resending), "a due key is dropped after the effects", 12
    ),
    # The queue keeps that rule too: only the newest receipt deletes a message. So here neither the engine nor the queue
    # does.
    "an executor that lost its lease deletes a message": Fault(
        both(
            instead(finish, _lets_every_message_go),
            given(MemoryQueue, "newest", lambda queue, receipt: queue.received.get(receipt)),
        ),
        "a run without a message is found again",
        meeting="an execution that wakes while another one has its run",
    ),
    "a message of several runs is deleted with the first of them": Fault(
        given(MemoryQueue, "receive", _each_on_its_own), "a run without a message is found again", 149
    ),
    "an end without a message is written as if it had one": Fault(
        instead(ended, _as_with_a_message), "an end without a message is due at once", scene="targets report later"
    ),
    "a finish drops a due key that it found": Fault(
        instead(after_attempt, _drops_the_due_key),
        "only the scan drops the due key of a run that is over",
        scene="targets report later",
    ),
    "the overlap lock is freed while its holder waits for a retry": Fault(
        handed(_freeing_the_guard_of_retries),
        "guarded runs come one by one",
        scene="targets fail, and runs are retried",
    ),
    "a one-off is completed by an older fire": Fault(
        overwritten(_concludes, _with_any_final_fire),
        "each due instant has one row",
        meeting="the only execution, and another instant",
    ),
    "a job's end is refused while it is paused": Fault(
        instead(final_status, _not_while_it_is_paused),
        "a job ends with its final run",
        meeting="the only execution, and a pause",
    ),
    "cancelled is overwritten by a conclusion": Fault(
        overwritten(_concludes, _in_any_status),
        "cancelled stays cancelled",
        meeting="the only execution, and a cancel",
    ),
    "a live run is failed by its dead letter": Fault(
        instead(due_again, _fails_running_runs),
        "no lease is cut short",
        meeting="a claim by an executor that dies, of a run whose message is given up",
    ),
    # A heartbeat extends the lease and leaves the due key: a reaper that goes by the due key alone ends healthy runs.
    "a reaper ignores the lease": Fault(
        instead(is_reapable, lambda run, *_: run.state is RunState.RUNNING and run.callback is not None),
        "no lease is cut short",
        scene="targets report later",
    ),
}
