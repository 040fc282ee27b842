"""Skip a job's next fire manually: which fire that is, what its row says, and what becomes of the job."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, spec
from tests.engine.service import KEY, Service, at, calls, ledger, reschedule
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import DAY_MS, HOUR_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.blackouts.freezes import create_freeze
from timeball.engine.changes.change import ChangeOutcome, SkippedNext, cancel, pause, resume, skip_next
from timeball.engine.changes.skip import Skipping

RAN, BY_HAND = ("succeeded", None), ("skipped", "skipped_manually")


def begin(service: Service, timing: Timing | Schedule) -> None:
    service.play.store_jobs([spec("job", timing)])


def skip(service: Service, version: int | None = None, request: str | None = None) -> SkippedNext:
    return skip_next(service.play.context(), [Skipping(KEY, version, request)])[0]


def test_the_next_fire_gets_its_row_at_once_and_the_following_fire_runs(service: Service) -> None:
    begin(service, Every(60, at(30)))
    done = skip(service)
    assert done.row is not None
    assert (done.row.id.fire_at, done.row.state, done.row.reason) == (at(30), RunState.SKIPPED, Reason.SKIPPED_MANUALLY)
    assert done.changed.job is not None
    assert (done.changed.job.next_fire_at, done.changed.job.version) == (at(90), 2)
    service.until(at(100))
    assert ledger(service.play) == {30: BY_HAND, 90: RAN}
    assert calls(service) == [(90, 90)]


def test_a_fire_that_was_already_sent_is_skipped_and_its_message_has_no_effect(service: Service) -> None:
    begin(service, Every(60, at(4)))
    service.until(at(1))
    assert service.play.runs(KEY)[0].state is RunState.QUEUED
    done = skip(service)
    assert done.row is not None
    assert done.row.id.fire_at == at(4)
    service.until(at(70))
    assert ledger(service.play) == {4: BY_HAND, 64: RAN}


@pytest.mark.parametrize("sent_ahead", [True, False])
@pytest.mark.parametrize(("timing", "following"), [(At(at(10)), {}), (Every(30, at(10)), {40: RAN})])
def test_a_fire_that_a_freeze_defers_is_the_next_one_whether_it_was_sent_before_or_not(
    service: Service, timing: Timing, following: dict[float, tuple[str, str]], *, sent_ahead: bool
) -> None:
    begin(service, timing)
    service.until(at(6 if sent_ahead else 1))
    everybody = Freeze("f", service.play.clock.now(), at(40), FreezeMatch(everything=True), service.play.clock.now())
    create_freeze(service.play.context(), "acme", everybody)
    service.until(at(25))
    done = skip(service)
    assert done.row is not None
    assert done.row.id.fire_at == at(10)
    service.until(at(65))
    assert ledger(service.play) == {10: BY_HAND, **following}


def test_two_skips_skip_two_fires(service: Service) -> None:
    begin(service, Every(60, at(30)))
    skip(service)
    skip(service)
    service.until(at(160))
    assert ledger(service.play) == {30: BY_HAND, 90: BY_HAND, 150: RAN}


def test_a_named_request_skips_one_fire_however_often_it_is_repeated(service: Service) -> None:
    begin(service, Every(60, at(30)))
    first, again = skip(service, request="r"), skip(service, request="r")
    assert (first.is_repeated, again.is_repeated) == (False, True)
    assert again.row == first.row
    service.until(at(95))
    assert ledger(service.play) == {30: BY_HAND, 90: RAN}


def test_a_named_request_that_found_no_fire_may_skip_one_later_and_only_one(service: Service) -> None:
    begin(service, Every(60, at(30)))
    pause(service.play.context(), [(KEY, None)])
    for _ in range(2):
        assert skip(service, request="r").row is None
    resume(service.play.context(), [(KEY, None)])
    first, again = skip(service, request="r"), skip(service, request="r")
    assert (first.is_repeated, again.is_repeated) == (False, True)
    service.until(at(95))
    assert ledger(service.play) == {30: BY_HAND, 90: RAN}


def test_a_fire_skipped_before_it_was_sent_does_not_count_as_a_run(service: Service) -> None:
    begin(service, Schedule(Every(60, at(30)), max_runs=1))
    skip(service)
    service.until(at(100))
    assert ledger(service.play) == {30: BY_HAND, 90: RAN}
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_one_off_whose_fire_is_skipped_is_skipped(service: Service) -> None:
    for ahead, timing in ((0, At(at(30))), (40, At(at(43)))):
        service.until(at(ahead))
        service.play.store_jobs([replace(spec("job", timing), key=replace(KEY, job_id=f"one-{ahead}"))])
        key = replace(KEY, job_id=f"one-{ahead}")
        service.until(at(ahead))
        (done,) = skip_next(service.play.context(), [Skipping(key)])
        assert done.row is not None
        service.until(at(ahead + 10))
        assert service.play.job(key).status is JobStatus.SKIPPED
    assert calls(service) == []


def test_skipping_the_last_fire_ends_its_job(service: Service) -> None:
    begin(service, Schedule(Every(60, at(30)), end_at=at(80)))
    skip(service)
    service.until(at(70))
    assert service.play.job(KEY).status is JobStatus.COMPLETED
    assert ledger(service.play) == {30: BY_HAND}


def test_a_fire_skipped_far_ahead_stays_skipped_when_the_job_is_changed_and_changed_back(service: Service) -> None:
    begin(service, Every(3600, at(3600)))
    skip(service)
    reschedule(service.play, Every(60, NOW + DAY_MS))
    reschedule(service.play, Every(3600, at(3600)))
    service.until(at(0) + HOUR_MS + 30_000)
    assert ledger(service.play) == {3600: BY_HAND}


def test_a_job_that_is_paused_or_has_ended_has_no_fire_to_skip(service: Service) -> None:
    begin(service, Every(60, at(30)))
    pause(service.play.context(), [(KEY, None)])
    done = skip(service)
    assert (done.changed.outcome, done.row) == (ChangeOutcome.DONE, None)
    cancel(service.play.context(), [(KEY, None)])
    assert skip(service).changed.outcome is ChangeOutcome.ENDED


def test_a_stale_version_skips_nothing(service: Service) -> None:
    begin(service, Every(60, at(30)))
    assert skip(service, version=7).changed.outcome is ChangeOutcome.STALE
    assert service.play.runs(KEY) == []
