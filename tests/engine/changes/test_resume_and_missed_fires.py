"""What a resume decides about fires of the pause: at the moment of the resume, and what never ran counts as no run."""

from dataclasses import replace

import pytest

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls, ledger, reschedule
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.changes.change import pause, resume

SKIP = CatchUp(CatchUpPolicy.SKIP)
ALL = CatchUp(CatchUpPolicy.ALL, max_runs=5, max_age_seconds=120)


def test_a_fire_that_a_closed_plan_left_behind_and_the_policy_skips_is_none_of_max_runs(service: Service) -> None:
    play = service.play
    play.store_jobs([replace(spec("job", Schedule(Every(600, at(20)), max_runs=1)), catch_up=SKIP)])
    service.until(at(1))
    pause(play.context(), [(KEY, None)])
    service.until(at(3))
    reschedule(play, Schedule(Every(600, at(20)), max_runs=1, end_at=at(10_000)))
    service.until(at(200))
    resume(play.context(), [(KEY, None)])
    service.until(at(1500))
    assert calls(service) == [(620, 620)]
    assert ledger(play)[20] == ("skipped", "misfired")
    assert play.job(KEY).status is JobStatus.COMPLETED


@pytest.mark.parametrize("behind_seconds", [1, 53])
def test_what_is_caught_up_at_the_resume_runs_however_far_the_executors_are_behind(
    service: Service, behind_seconds: int
) -> None:
    play = service.play
    play.store_jobs([replace(spec("job", Every(60, at(4))), catch_up=ALL)])
    service.until(at(1))
    pause(play.context(), [(KEY, None)])
    service.until(at(75))  # the fire of second 4 was taken back, that of second 64 has no row
    service.is_executing = False
    resume(play.context(), [(KEY, None)])
    service.until(at(75 + behind_seconds))
    service.is_executing = True
    service.until(at(90 + behind_seconds))
    ran = ("succeeded", None)
    assert [ledger(play)[fire] for fire in (4, 64)] == [ran, ran]
