"""Dead letters: listed with filters and pages, replayed at a pace, discarded."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import cancel
from timeball.engine.runs.dead_letters import (
    DeadFilter,
    DeadPage,
    Dealt,
    Position,
    discard,
    list_dead,
    read_dead,
    replay,
)
from timeball.ports.rows import Swap

ALL = DeadFilter("acme")


def _dead(count: int = 5, jobs: int = 2) -> tuple[Play, list[Job]]:
    """Return a play with dead letters of several jobs, one a second, with alternating reasons."""
    play = Play()
    specs = [replace(spec(f"job-{n}", Every(1, NOW)), retry=replace(PLAIN_RETRY, max_retries=0)) for n in range(jobs)]
    stored = play.store_jobs(specs)
    play.scan_all()
    for turn in range(count):
        for job in stored:
            run = play.runs(job.key)[turn]
            reason = Reason.RETRIES_EXHAUSTED if turn % 2 else Reason.NOT_RETRIABLE
            died_at = run.id.fire_at + 500
            last = Attempt(1, Outcome.FAILED, NOW, NOW, died_at, 500, error=f"Turn {turn} of {job.key.job_id}.")
            after = replace(run, state=RunState.FAILED, attempt=1, reason=reason, finished_at=died_at, last=last)
            assert play.store.runs.swap([Swap(run, after)], died_at)[0].done
    play.clock.advance(60 * SECOND_MS)
    return play, stored


def _replay(
    play: Play, limit: int, per_second: int, after: Position | None = None, start_at: int | None = None
) -> Dealt:
    page = list_dead(play.context(), ALL, limit, after, oldest_first=True)
    return replay(play.context(), page, per_second, start_at)


def _ids(page: DeadPage) -> list[str]:
    return [f"{run.id.job.job_id}@{(run.id.fire_at - NOW) // SECOND_MS}" for run in page.runs]


def test_dead_letters_are_listed_newest_first_page_by_page_each_once() -> None:
    play, _ = _dead()
    found: list[str] = []
    after = None
    for pages_left in (3, 2, 1, 0):
        page = list_dead(play.context(), ALL, 3, after)
        found += _ids(page)
        after = page.next_after
        assert (after is None) == (pages_left == 0)
    assert found == [f"job-{n}@{turn}" for turn in reversed(range(5)) for n in (1, 0)]


# Columns: a filter, and what it finds among two jobs that died five times each.
FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one job": ({"job": JobKey("acme", "job-1")}, [f"job-1@{turn}" for turn in (4, 3, 2, 1, 0)]),
    "a reason": ({"reason": Reason.RETRIES_EXHAUSTED}, ["job-1@3", "job-0@3", "job-1@1", "job-0@1"]),
    "part of an error, in any case": ({"error": "TURN 4 of"}, ["job-1@4", "job-0@4"]),
    "from a time": ({"from_at": NOW + 4_000}, ["job-1@4", "job-0@4"]),
    "to a time": ({"to_at": NOW + 1_000}, ["job-1@0", "job-0@0"]),
    "all of it together": ({"job": JobKey("acme", "job-0"), "error": "turn", "to_at": NOW + 1_000}, ["job-0@0"]),
    "another tenant": ({"tenant": "other"}, []),
}


@pytest.mark.parametrize("case", FILTERS)
def test_a_filter_finds_the_dead_letters_that_match(case: str) -> None:
    changes, expected = FILTERS[case]
    play, _ = _dead()
    assert _ids(list_dead(play.context(), replace(ALL, **changes), 100)) == expected


def test_replayed_dead_letters_start_one_after_the_other_and_are_no_longer_listed() -> None:
    play, _ = _dead()
    dealt = _replay(play, 100, 2)
    assert (len(dealt.done), dealt.refused) == (10, ())
    assert dealt.next_start_at == play.clock.now() + 5_000
    assert list_dead(play.context(), ALL, 100).runs == ()
    begun_at = play.clock.now()
    names = {run.id for run in dealt.done}
    while len(called := [at for at, call in play.caller.calls if call.run in names]) < 10:
        play.scan_all()
        if not play.execute_next():
            play.clock.advance(100)
    waits = [called_at - begun_at for called_at in called]
    assert all(wait >= 500 * turn for turn, wait in enumerate(waits))
    assert waits[-1] < 6_000
    assert [run.id.fire_at for run in dealt.done] == sorted(run.id.fire_at for run in dealt.done)
    assert {run.state for run in play.store.runs.read(list(names)) if run} == {RunState.SUCCEEDED}


def test_the_fresh_retry_budget_of_a_replay_begins_at_the_runs_own_start() -> None:
    play, _ = _dead()
    dealt = _replay(play, 100, 1)
    assert [run.budget_at for run in dealt.done] == [play.clock.now() + 1_000 * turn for turn in range(10)]
    assert {run.budget_from for run in dealt.done} == {1}


def test_a_replay_page_by_page_continues_where_and_when_the_page_before_ended() -> None:
    play, _ = _dead()
    page = list_dead(play.context(), ALL, 4, oldest_first=True)
    first = replay(play.context(), page, 2)
    second = _replay(play, 100, 2, page.next_after, first.next_start_at)
    turns = [run.not_before - play.clock.now() for run in (*first.done, *second.done)]
    assert turns == [500 * turn for turn in range(10)]


def test_a_run_that_is_no_longer_a_dead_letter_is_refused_and_not_changed() -> None:
    play, jobs = _dead()
    first, second, *_ = [run.id for run in play.runs(jobs[0].key)]
    unknown = RunId(jobs[0].key, NOW + 1, first.origin)
    replay(play.context(), read_dead(play.context(), [first]), 10)
    before = play.store.runs.read([first])
    dealt = replay(play.context(), read_dead(play.context(), [first, second, unknown, second]), 10)
    assert ([run.id for run in dealt.done], dealt.refused) == ([second], (first, unknown))
    assert play.store.runs.read([first]) == before


def test_a_dead_letter_of_a_cancelled_job_is_refused() -> None:
    play, jobs = _dead()
    cancel(play.context(), [(jobs[0].key, None)])
    dealt = _replay(play, 100, 100)
    assert {run.id.job for run in dealt.done} == {jobs[1].key}
    assert {run.job for run in dealt.refused} == {jobs[0].key}
    assert len(list_dead(play.context(), ALL, 100).runs) == 5


def test_a_discarded_dead_letter_is_no_longer_listed_stays_in_its_ledger_and_may_be_retried_manually() -> None:
    play, jobs = _dead()
    first = play.runs(jobs[0].key)[0].id
    assert [run.id for run in discard(play.context(), read_dead(play.context(), [first])).done] == [first]
    assert first not in [run.id for run in list_dead(play.context(), ALL, 100).runs]
    (run,) = play.store.runs.read([first])
    assert run is not None
    assert (run.state, run.discarded_at, run.is_dead_letter) == (RunState.FAILED, play.clock.now(), False)
    assert discard(play.context(), read_dead(play.context(), [first])).refused == (first,)
    matching = list_dead(play.context(), replace(ALL, job=jobs[1].key), 3, oldest_first=True)
    assert len(discard(play.context(), matching).done) == 3
    assert len(discard(play.context(), list_dead(play.context(), ALL, 100)).done) == 6
    assert list_dead(play.context(), ALL, 100).runs == ()


def test_a_run_that_fails_for_good_is_a_dead_letter_and_a_skipped_or_cancelled_run_is_not() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW), replace(PLAIN_RETRY, max_retries=0)), spec("other", At(NOW + 3_000))])
    play.scan_all()
    cancel(play.context(), [(JobKey("acme", "other"), None)])
    play.caller.statuses = [500]
    play.drain()
    assert [run.id.job.job_id for run in list_dead(play.context(), ALL, 100).runs] == ["job"]
