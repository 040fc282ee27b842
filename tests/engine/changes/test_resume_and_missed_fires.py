"""A resume decides about fires of the pause at the moment of the resume. Skipped fires do not count as runs."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.play import spec
from tests.engine.service import KEY, Service, at, calls, ledger, reschedule
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.blackouts.freezes import create_freeze, lift_freeze
from timeball.engine.changes.change import pause, resume
from timeball.engine.runs.trigger import Trigger, trigger

SKIP = CatchUp(CatchUpPolicy.SKIP)
LATEST = CatchUp(CatchUpPolicy.LATEST)
ALL = CatchUp(CatchUpPolicy.ALL, max_runs=5, max_age_seconds=120)
EVERY_ONE = CatchUp(CatchUpPolicy.ALL, max_runs=100)


def pauses(service: Service) -> None:
    pause(service.play.context(), [(KEY, None)])


def resumes(service: Service) -> None:
    resume(service.play.context(), [(KEY, None)])


def freezes(service: Service) -> None:
    now = service.play.clock.now()
    create_freeze(service.play.context(), "acme", Freeze("f", now, None, FreezeMatch(everything=True), now))


def lifts(service: Service) -> None:
    lift_freeze(service.play.context(), "acme", "f")


# The catch-up policy of a job that fires each second, and which fires of seconds 11 to 50 run.
SHORT_PAUSES: dict[str, tuple[CatchUp, list[int]]] = {
    "skip": (SKIP, []),
    "latest": (LATEST, [50]),
    "all, five at most": (ALL, [46, 47, 48, 49, 50]),
    "all, a hundred at most": (EVERY_ONE, list(range(11, 51))),
}


@pytest.mark.parametrize("case", SHORT_PAUSES)
def test_a_fire_of_a_short_pause_counts_as_missed_whatever_its_age(service: Service, case: str) -> None:
    catch_up, caught_up = SHORT_PAUSES[case]
    service.play.store_jobs([replace(spec("job", Every(1, at(0))), catch_up=catch_up)])
    service.until(at(10.4))
    pauses(service)
    service.until(at(51.2))
    resumes(service)
    service.until(at(130))
    late = [(fire, called) for fire, called in calls(service) if 11 <= fire <= 50]
    assert sorted(fire for fire, _ in late) == caught_up
    assert all(called - place >= 51 for place, (_, called) in enumerate(late)), "they start a second apart"
    on_time = [fire for fire, called in calls(service) if called - fire < 3 and not 11 <= fire <= 50]
    assert sorted(on_time) == [*range(11), *range(51, 131)], "the fire of the second of the resume is not missed"


def test_a_fire_of_a_short_freeze_counts_as_missed_whatever_its_age(service: Service) -> None:
    service.play.store_jobs([replace(spec("job", Every(1, at(0))), catch_up=SKIP)])
    service.until(at(10.4))
    freezes(service)  # the freeze begins three seconds later
    service.until(at(51.2))
    lifts(service)
    service.until(at(90))
    assert [fire for fire, _ in sorted(calls(service))] == [*range(14), *range(51, 91)]
    assert {row.reason for row in service.play.runs(KEY) if row.reason} == {"frozen"}


def test_pauses_less_than_a_minute_apart_count_as_one(service: Service) -> None:
    """No fire was planned between the two pauses."""
    service.play.store_jobs([replace(spec("job", Every(1, at(0))), catch_up=SKIP)])
    service.until(at(10.4))
    pauses(service)
    service.until(at(40.3))
    resumes(service)
    pauses(service)
    service.until(at(50.3))
    resumes(service)
    service.until(at(70))
    assert [fire for fire, _ in sorted(calls(service))] == [*range(11), *range(50, 71)]


def test_a_run_whose_jitter_lets_it_start_after_the_resume_is_not_missed(service: Service) -> None:
    service.play.store_jobs([replace(spec("job", Every(1, at(0))), catch_up=SKIP, jitter_seconds=30)])
    service.until(at(10.4))
    pauses(service)
    service.until(at(51.2))
    resumes(service)
    service.until(at(120))
    starts = {run.id.fire_at: run.not_before for run in service.play.runs(KEY) if run.attempt}
    late = [(fire, called) for fire, called in calls(service) if fire <= 50 and called > 51]
    assert len(late) > 5
    assert all(called - starts[at(fire)] / SECOND_MS + at(0) / SECOND_MS < 3 for fire, called in late)
    assert all(at(51) <= starts[at(fire)] for fire, _ in late)


@pytest.mark.parametrize(("begin", "end"), [(pauses, resumes), (freezes, lifts)])
def test_one_offs_and_manual_runs_of_a_short_pause_still_run(
    service: Service, begin: Callable[[Service], None], end: Callable[[Service], None]
) -> None:
    service.play.store_jobs([replace(spec("job", At(at(20))), catch_up=SKIP)])
    service.until(at(1))
    begin(service)
    service.until(at(30))
    trigger(service.play.context(), [Trigger(KEY, fingerprint="f")])
    service.until(at(40))
    assert [fire for fire, _ in calls(service)] == [30]
    end(service)
    service.until(at(60))
    assert sorted(fire for fire, _ in calls(service)) == [20, 30]


def test_a_run_that_waited_for_an_earlier_one_before_the_pause_does_not_count_as_missed(service: Service) -> None:
    wanted = replace(spec("job", Every(10, at(0))), catch_up=SKIP, overlap=OverlapPolicy.QUEUE_ONE)
    service.play.store_jobs([wanted])
    service.target.takes = lambda call: 35 * SECOND_MS if call.run.fire_at == at(0) else 0
    service.until(at(15))  # the fire of second 10 waits
    pauses(service)
    service.until(at(61))
    resumes(service)
    service.until(at(69))
    assert {fire: row for fire, row in ledger(service.play).items() if fire < 70} == {
        0: ("succeeded", None),
        10: ("succeeded", None),
        20: ("skipped", "misfired"),
    }


def test_a_fire_of_a_replaced_plan_that_the_policy_skips_does_not_count_towards_max_runs(service: Service) -> None:
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
def test_fires_caught_up_at_the_resume_run_however_late_the_executors_are(
    service: Service, behind_seconds: int
) -> None:
    play = service.play
    play.store_jobs([replace(spec("job", Every(60, at(4))), catch_up=ALL)])
    service.until(at(1))
    pause(play.context(), [(KEY, None)])
    service.until(at(75))  # the fire of second 4 was withdrawn, and that of second 64 has no row
    service.engine.is_executing = False
    resume(play.context(), [(KEY, None)])
    service.until(at(75 + behind_seconds))
    service.engine.is_executing = True
    service.until(at(90 + behind_seconds))
    ran = ("succeeded", None)
    assert [ledger(play)[fire] for fire in (4, 64)] == [ran, ran]


def test_queue_one_starts_the_first_fire_that_is_caught_up_and_lets_the_next_wait(service: Service) -> None:
    wanted = replace(spec("job", Every(60, at(0))), catch_up=ALL, overlap=OverlapPolicy.QUEUE_ONE)
    service.play.store_jobs([replace(wanted, catch_up=replace(ALL, max_age_seconds=3600))])
    service.target.takes = lambda _: 10 * SECOND_MS
    service.until(at(30))
    pauses(service)
    service.until(at(275))
    resumes(service)
    service.until(at(299))
    ran, overlapped = ("succeeded", None), ("skipped", "overlap")
    rows = {fire: row for fire, row in ledger(service.play).items() if fire < 300}
    assert rows == {0: ran, 60: ran, 120: ran, 180: overlapped, 240: overlapped}
