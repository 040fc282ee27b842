"""The process that ends a run carries out the effects of the end, or leaves them to the scan if the scan finds it."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.time.schedule import At
from timeball.engine.context import Context
from timeball.engine.runs.effects import change_runs
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.testing.faults import with_outages


def queued_in(play: Play) -> tuple[Run, Job]:
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan()
    return play.runs(job.key)[0], play.job(job.key)


def without_conclusions(play: Play) -> Context:
    return replace(play.context(), store=with_outages(play.store, concludes))


def concludes(method: str, written: Any) -> bool:
    return method == "jobs.swap" and written.before.status is not written.after.status


def test_the_process_that_ends_a_run_concludes_its_job() -> None:
    play = Play()
    run, job = queued_in(play)
    change_runs(play.context(), {run.id: job}, [Swap(run, ended(run, RunState.CANCELLED, NOW, Guarantor.MESSAGE))], NOW)
    assert play.job(job.key).status is JobStatus.CANCELLED


def test_a_process_that_finds_a_run_ended_by_another_concludes_its_job_too() -> None:
    play = Play()
    run, job = queued_in(play)
    over = ended(run, RunState.CANCELLED, NOW, Guarantor.MESSAGE)
    play.store.runs.swap([Swap(run, over)], NOW)  # by a process that died then
    late = ended(run, RunState.SKIPPED, NOW + 1, Guarantor.MESSAGE)
    (refused,) = change_runs(play.context(), {run.id: job}, [Swap(run, late)], NOW)
    assert (refused.done, refused.row) == (False, replace(over, revision=2))
    assert play.job(job.key).status is JobStatus.CANCELLED


def test_failed_effects_are_left_to_the_scan_that_finds_the_end_again() -> None:
    play = Play()
    run, job = queued_in(play)
    over = ended(run, RunState.CANCELLED, NOW, Guarantor.SCAN)
    assert change_runs(without_conclusions(play), {run.id: job}, [Swap(run, over)], NOW)[0].done
    assert play.job(job.key).status is JobStatus.PENDING

    play.scan()
    assert play.job(job.key).status is JobStatus.CANCELLED
    assert play.runs(job.key)[0].due_at is None


def test_a_scan_that_cannot_carry_out_effects_keeps_the_due_key() -> None:
    play = Play()
    run, job = queued_in(play)
    over = ended(run, RunState.CANCELLED, NOW, Guarantor.SCAN)
    play.store.runs.swap([Swap(run, over)], NOW)
    store, play.store = play.store, without_conclusions(play).store
    with pytest.raises(UnavailableError):
        play.scan()
    play.store = store
    assert play.runs(job.key)[0].due_at == NOW


def test_failed_effects_keep_the_message_whose_next_delivery_repeats_them() -> None:
    play = Play()
    run, job = queued_in(play)
    over = ended(run, RunState.CANCELLED, NOW, Guarantor.MESSAGE)
    with pytest.raises(UnavailableError):
        change_runs(without_conclusions(play), {run.id: job}, [Swap(run, over)], NOW)
    assert play.runs(job.key) == [replace(over, revision=2)]

    play.drain()
    assert play.job(job.key).status is JobStatus.CANCELLED
