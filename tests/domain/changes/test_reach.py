"""How far into the past a change of a job searches for its live runs."""

from dataclasses import replace

from timeball.domain.changes.reach import earliest_live, needs_note, noted, revised_from
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.job import Intent, Job, JobSpec, RuleSet, Verb, with_spec
from timeball.domain.model.terms.policies import CatchUp, RetryPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule

NOW = parse_instant("2026-11-21T09:30:00Z")
JOB = Job(
    JobSpec(
        JobKey("acme", "job"),
        Schedule(Every(60, NOW)),
        None,
        retry=RetryPolicy(max_retries=0),
        timeout_seconds=3600,
        catch_up=CatchUp(max_age_seconds=60),
    ),
    shard=0,
    created_at=NOW,
    updated_at=NOW,
    rules=RuleSet(),
)
BY_POLICY = NOW - HOUR_MS - 10 * MINUTE_MS - MINUTE_MS - DAY_MS
"""An hour's call, ten minutes' patience with its host, a minute's catching up, and a day."""


LIFE_MS = HOUR_MS + 10 * MINUTE_MS


def _earliest(job: Job, now: int = NOW) -> int:
    return earliest_live(job, now, 60 * SECOND_MS)


def _needs_note(job: Job, fire_at: int, now: int = NOW) -> bool:
    return needs_note(job, fire_at, now, 60 * SECOND_MS)


def test_a_change_searches_as_far_back_as_the_policies_let_a_run_live() -> None:
    assert _earliest(JOB) == BY_POLICY
    assert _earliest(with_spec(JOB, timeout_seconds=60)) == BY_POLICY + 59 * MINUTE_MS
    assert _earliest(with_spec(JOB, schedule=Schedule(At(NOW)))) == 0


def test_it_searches_back_from_the_start_of_a_pause_or_of_an_unsettled_change() -> None:
    paused = replace(JOB, paused_at=NOW - HOUR_MS)
    assert _earliest(paused) == BY_POLICY - HOUR_MS
    assert _earliest(replace(paused, intent=Intent(Verb.RESUME, NOW - 2 * HOUR_MS, None))) == BY_POLICY - 2 * HOUR_MS


def test_a_note_extends_the_search_for_twice_as_long_as_a_run_may_live() -> None:
    long_ago = NOW - 30 * DAY_MS
    job = noted(noted(JOB, long_ago, NOW), NOW - 20 * DAY_MS, NOW + 1)
    until = NOW + 1 + 2 * LIFE_MS
    assert [_earliest(job, at) for at in (NOW, until)] == [long_ago, long_ago]
    assert _earliest(job, until + 1) == _earliest(JOB, until + 1)
    assert _earliest(replace(job, intent=Intent(Verb.CANCEL, until, None)), until + DAY_MS) == long_ago
    anew = noted(job, NOW - 20 * DAY_MS, until + 1)
    assert _earliest(anew, until + 1) == NOW - 20 * DAY_MS, "the earlier note has expired"


def test_a_start_a_day_later_than_policies_allow_is_noted_and_noted_again_if_it_outlives_the_note() -> None:
    start_at = NOW - MINUTE_MS - DAY_MS
    assert [_needs_note(JOB, at) for at in (start_at, start_at - 1)] == [False, True]
    assert not _needs_note(with_spec(JOB, schedule=Schedule(At(NOW))), 0), "a one-off's runs are all searched anyway"
    long_ago = NOW - 30 * DAY_MS
    job = noted(JOB, long_ago, NOW)
    assert [_needs_note(job, at) for at in (long_ago - 1, long_ago)] == [True, False]
    assert [_needs_note(job, long_ago, NOW + after) for after in (LIFE_MS, LIFE_MS + 1)] == [False, True]


def test_shorter_policies_leave_a_note_for_the_runs_that_began_under_longer_ones() -> None:
    shorter = with_spec(JOB, timeout_seconds=60)
    after = revised_from(JOB, shorter, NOW, 60 * SECOND_MS)
    assert _earliest(after) == BY_POLICY
    assert revised_from(shorter, JOB, NOW, 60 * SECOND_MS) == JOB
    recurring = revised_from(with_spec(JOB, schedule=Schedule(At(NOW))), JOB, NOW, 60 * SECOND_MS)
    assert _earliest(recurring) == 0
    assert _earliest(noted(recurring, NOW, NOW), NOW) == 0


WEEKLY = with_spec(JOB, schedule=Schedule(Every(7 * 86_400, NOW)), calendar=CalendarUse("closed", CalendarPolicy.NEXT))


def test_the_search_goes_one_fire_further_back_if_a_calendar_moves_fires() -> None:
    assert _earliest(WEEKLY, NOW + 6 * DAY_MS) == NOW
    assert _earliest(with_spec(WEEKLY, calendar=CalendarUse("closed")), NOW + 6 * DAY_MS) == BY_POLICY + 6 * DAY_MS
    each_minute = with_spec(WEEKLY, schedule=JOB.spec.schedule)
    assert BY_POLICY + 6 * DAY_MS - MINUTE_MS <= _earliest(each_minute, NOW + 6 * DAY_MS) < BY_POLICY + 6 * DAY_MS
    assert _earliest(with_spec(WEEKLY, schedule=Schedule(Every(50 * 86_400, NOW))), NOW + 49 * DAY_MS) == (
        BY_POLICY + 49 * DAY_MS
    ), "no fire is moved so far"


def test_the_start_of_a_moved_fire_needs_no_note_and_a_later_start_does() -> None:
    assert not _needs_note(WEEKLY, NOW, NOW + 6 * DAY_MS)
    assert _needs_note(with_spec(WEEKLY, calendar=None), NOW, NOW + 6 * DAY_MS)
    assert not _needs_note(WEEKLY, NOW, NOW + 7 * DAY_MS)
    assert _needs_note(WEEKLY, NOW, NOW + 9 * DAY_MS)


def test_runs_that_wait_for_another_day_are_found_until_then_whatever_the_job_becomes() -> None:
    now = NOW + 3 * DAY_MS
    for changes in ({"calendar": None}, {"schedule": JOB.spec.schedule}):
        after = revised_from(WEEKLY, with_spec(WEEKLY, **changes), now, 60 * SECOND_MS)
        assert [_earliest(after, NOW + days * DAY_MS) <= NOW for days in (3, 20, 31)] == [True] * 3
        assert _earliest(after, NOW + 40 * DAY_MS) > NOW


def test_a_job_whose_time_zone_has_vanished_is_searched_as_far_back_as_any_fire_is_moved() -> None:
    nowhere = with_spec(WEEKLY, schedule=Schedule(Cron("0 9 * * 1", "Mars/Olympus")))
    assert _earliest(nowhere) == BY_POLICY - 32 * DAY_MS
