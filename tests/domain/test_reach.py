"""How far back a change of a job looks for its live runs."""

from dataclasses import replace

import pytest

from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import Intent, Job, JobSpec, RuleSet, Searched, Verb, with_spec
from timeball.domain.model.policies import CatchUp, RetryPolicy
from timeball.domain.policy.search_window import (
    earliest_live,
    first_window,
    is_noted,
    next_window,
    noted,
    revised_from,
    searched,
)
from timeball.domain.time.instants import DAY_MS, HOUR_MS, LATEST, MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import At, Every, Schedule

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


def _earliest(job: Job, now: int = NOW) -> int:
    return earliest_live(job, now, 60 * SECOND_MS)


def test_a_change_looks_back_as_far_as_the_policies_let_a_run_live() -> None:
    assert _earliest(JOB) == BY_POLICY
    assert _earliest(with_spec(JOB, timeout_seconds=60)) == BY_POLICY + 59 * MINUTE_MS
    assert _earliest(with_spec(JOB, schedule=Schedule(At(NOW)))) == 0


def test_it_looks_back_from_where_a_pause_or_a_change_began_that_is_not_settled_yet() -> None:
    paused = replace(JOB, paused_at=NOW - HOUR_MS)
    assert _earliest(paused) == BY_POLICY - HOUR_MS
    assert _earliest(replace(paused, intent=Intent(Verb.RESUME, NOW - 2 * HOUR_MS, None))) == BY_POLICY - 2 * HOUR_MS


def test_a_note_takes_it_further_back_until_a_look_finds_nothing_there() -> None:
    long_ago = NOW - 30 * DAY_MS
    job = noted(noted(JOB, long_ago, NOW), NOW, NOW)
    assert _earliest(job) == long_ago
    later = NOW + 10 * MINUTE_MS
    assert searched(job, None, later - 1) == job, "whoever made the note may not have written its run yet"
    assert _earliest(searched(job, long_ago + 5, later), later) == long_ago + 5
    assert searched(job, None, later) == replace(job, live_from=None, live_noted_at=None)


def test_a_note_is_made_again_before_it_may_be_dropped() -> None:
    long_ago = NOW - 30 * DAY_MS
    job = noted(JOB, long_ago, NOW)
    assert [is_noted(job, at, NOW + 5 * MINUTE_MS - 1) for at in (long_ago - 1, long_ago, NOW)] == [False, True, True]
    assert not is_noted(job, long_ago, NOW + 5 * MINUTE_MS)
    assert is_noted(with_spec(JOB, schedule=Schedule(At(NOW))), 0, NOW), "all of a one-off is looked through anyway"


def test_shorter_policies_are_noted_for_the_runs_that_began_under_longer_ones() -> None:
    shorter = with_spec(JOB, timeout_seconds=60)
    after = revised_from(JOB, shorter, NOW, 60 * SECOND_MS)
    assert _earliest(after) == BY_POLICY
    assert revised_from(shorter, JOB, NOW, 60 * SECOND_MS) == JOB
    recurring = revised_from(with_spec(JOB, schedule=Schedule(At(NOW))), JOB, NOW, 60 * SECOND_MS)
    assert _earliest(recurring) == 0


# Of each: how far back to look, what was looked at before, how long a window takes, and how wide each one is (hours).
WINDOWS: dict[str, tuple[int, Searched | None, int, list[float]]] = {
    "quick ones get wider, up to four days": (12 * DAY_MS, None, 10, [6, 24, 96, 96, 66]),
    "slow ones get narrower": (12 * HOUR_MS, None, 600, [6, 1.5, 0.375, 0.09375]),
    "a reach within the first": (HOUR_MS, None, 10, [1]),
    "cut off after a day": (2 * DAY_MS, Searched(NOW - DAY_MS, None), 10, [6, 18]),
    "cut off before the end": (DAY_MS, Searched(NOW - DAY_MS, None), 10, []),
}


@pytest.mark.parametrize("case", WINDOWS)
def test_a_look_goes_back_window_by_window_as_wide_as_time_allows(case: str) -> None:
    reach_ms, kept, took_ms, widths = WINDOWS[case]
    window = first_window(kept, NOW - reach_ms, NOW)
    ends_at = NOW if kept is None else kept.from_at - 1
    found: list[float] = []
    while window is not None and len(found) < len(widths):
        assert window.through_at == (ends_at if kept or found else LATEST)
        found.append(round((ends_at - window.from_at + 1) / HOUR_MS, 5))
        ends_at = window.from_at - 1
        window = next_window(window, NOW - reach_ms, took_ms)
    assert found == widths
    assert took_ms > 500 or (window is None and ends_at == NOW - reach_ms - 1)


def test_the_look_of_a_one_off_is_one_window() -> None:
    window = first_window(None, _earliest(with_spec(JOB, schedule=Schedule(At(NOW)))), NOW)
    assert window is not None
    assert (window.from_at, window.through_at) == (0, LATEST)
    assert next_window(window, 0, 10) is None


def test_a_look_by_the_default_policies_is_three_windows_where_each_is_quick() -> None:
    defaults = with_spec(JOB, retry=RetryPolicy(), timeout_seconds=300, catch_up=CatchUp())
    reach_at = _earliest(defaults)
    windows, window = 0, first_window(None, reach_at, NOW)
    while window is not None:
        windows, window = windows + 1, next_window(window, reach_at, 10)
    assert windows == 3
