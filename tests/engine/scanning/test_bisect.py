"""Rows that cannot be read or written for now: they wait, and stop no other row of a batch or a scan."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import NOW, Play, open_days_only, spec
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.batches import bisect
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scanning.buckets import PAGE, day_of
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_collections import MemoryJobs, MemoryRuns
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock


class Hot(Memory):
    """The state of a store that refuses calls for one tenant's partition, and `forgets` to answer some claims."""

    refused: frozenset[str] = frozenset()
    forgets: int = 0

    def refuse(self, call: str, keys: Sequence[JobKey]) -> None:
        if call in self.refused and any(key.tenant == "hot" for key in keys):
            raise UnavailableError(f"a test lets {call} fail")


class HotJobs(MemoryJobs):
    _memory: Hot

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        self._memory.refuse("read jobs", keys)
        return super().read(keys, strong=strong, with_work=with_work)


class HotRuns(MemoryRuns):
    _memory: Hot

    def read(self, keys: Sequence[RunId], *, strong: bool = True) -> list[Run | None]:
        self._memory.refuse("read runs", [run_id.job for run_id in keys])
        if self._memory.forgets == 2:
            self._memory.forgets = 0
            raise UnavailableError("and the rows cannot be read")
        return super().read(keys, strong=strong)

    def swap(self, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        """Write what can be written, and then raise as if not all was written, like a table."""
        hot = self._memory
        refused = [swap for swap in swaps if "swap runs" in hot.refused and swap.before.id.job.tenant == "hot"]
        answers = super().swap([swap for swap in swaps if swap not in refused], now)
        hot.refuse("swap runs", [swap.before.id.job for swap in swaps])
        if hot.forgets == 1:
            hot.forgets = 2
            raise UnavailableError("the answer was lost")
        return answers


def _play(bad_at: int = NOW) -> tuple[Play, Hot, list[Job], Job]:
    play = Play(MemoryStore(hot := Hot(), jobs=HotJobs, runs=HotRuns))
    good = play.store_jobs(spec(f"good-{number}", At(NOW)) for number in range(9))
    (bad,) = play.store_jobs([replace(spec("bad", At(bad_at)), key=JobKey("hot", "bad"))])
    return play, hot, good, bad


def _states(play: Play, jobs: Sequence[Job]) -> set[RunState]:
    return {run.state for job in jobs for run in play.runs(job.key)}


@pytest.mark.parametrize("call", ["read runs", "read jobs", "swap runs"])
def test_a_run_that_cannot_be_claimed_for_now_keeps_its_message_and_stops_no_other_of_its_batch(call: str) -> None:
    play, hot, good, bad = _play()
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == 10
    hot.refused = frozenset({call})
    assert [delivery.run.job for delivery in play.execute(deliveries)] == [bad.key]
    assert _states(play, good) == {RunState.SUCCEEDED}
    hot.refused = frozenset()
    play.run_on(bad.key)
    assert _states(play, [bad]) == {RunState.SUCCEEDED}
    assert len(play.caller.calls) == 10


def test_a_claim_without_an_answer_is_recognized_as_its_own_when_the_invocation_asks_again() -> None:
    """The write of ten claims has no answer, and the rows cannot be read; then each half is claimed again."""
    play, hot, good, bad = _play()
    play.scan_all()
    deliveries = play.queue.receive("normal")
    hot.forgets = 1
    assert play.execute(deliveries) == []
    assert _states(play, [*good, bad]) == {RunState.SUCCEEDED}
    assert sorted(attempt for _, attempt in play.caller.attempts()) == [1] * 10


@pytest.mark.parametrize("call", ["read runs", "read jobs"])
def test_a_run_that_cannot_be_checked_for_now_does_not_stop_lost_runs_from_being_sent_again(call: str) -> None:
    play, hot, good, bad = _play()
    play.scan_all()
    if call == "read jobs":  # the effects of an ended run read its job
        (run,) = play.runs(bad.key)
        assert isinstance(play.store, MemoryStore)
        play.store.runs[run.id] = ended(run, RunState.CANCELLED, NOW, Guarantor.MESSAGE)
    play.queue.purge()
    (watch,) = play.queue.watches
    assert len(watch.runs) == 10
    play.clock.advance(watch.at - NOW)
    hot.refused = frozenset({call})
    assert play.watch() == 9
    play.drain()
    assert _states(play, good) == {RunState.SUCCEEDED}
    (watch,) = play.queue.watches
    assert bad.key in {run.job for run in watch.runs}
    play.clock.advance(watch.at - play.clock.now())
    hot.refused = frozenset()
    play.watch()
    play.drain()
    assert all(run.is_terminal for run in play.runs(bad.key))


@pytest.mark.parametrize("call", ["read runs", "swap runs"])
def test_a_run_that_a_scan_cannot_send_for_now_stops_no_job_from_firing(call: str) -> None:
    play, hot, good, bad = _play(bad_at=NOW + HOUR_MS)
    hot.refused = frozenset({"swap runs"})
    trigger(play.context(), [Trigger(bad.key)])  # its run stays in the due index
    hot.refused = frozenset({call})
    _assert_only_the_good_go_on(play, good)
    hot.refused = frozenset()
    play.run_on(bad.key, for_ms=HOUR_MS)
    assert _states(play, [bad]) == {RunState.SUCCEEDED}


def test_a_job_that_a_scan_cannot_read_for_now_stops_no_other_from_firing() -> None:
    play, hot, good, bad = _play()
    hot.refused = frozenset({"read jobs"})
    _assert_only_the_good_go_on(play, good)
    hot.refused = frozenset()
    play.run_on(bad.key)
    assert _states(play, [bad]) == {RunState.SUCCEEDED}


def _assert_only_the_good_go_on(play: Play, good: Sequence[Job]) -> None:
    assert play.scan().sent == len(good)
    while play.execute_next():
        pass
    assert _states(play, good) == {RunState.SUCCEEDED}
    with pytest.raises(UnavailableError, match="a test lets"):  # a scan that does nothing raises an error
        play.scan()


class UnreadableRuns(MemoryRuns):
    """Runs of which one tenant's are unreadable."""

    unreadable: bool = False

    def read(self, keys: Sequence[RunId], *, strong: bool = True) -> list[Run | None]:
        if self.unreadable and any(run_id.job.tenant == "hot" for run_id in keys):
            raise ValueError("no state of a run is called so")
        return super().read(keys, strong=strong)


@pytest.mark.parametrize(("tenant", "scans"), [("acme", 1), ("hot", 3)])
def test_unreadable_runs_do_not_hide_later_entries_of_the_due_index(
    tenant: str, scans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Play(store := MemoryStore(runs=UnreadableRuns))
    runs = store.runs
    assert isinstance(runs, UnreadableRuns)
    (bad,) = play.store_jobs([replace(spec("bad", At(NOW + HOUR_MS)), key=JobKey("hot", "bad"))])
    (good,) = play.store_jobs([replace(spec("good", At(NOW + SECOND_MS)), key=JobKey(tenant, "good"))])
    with monkeypatch.context() as patch:
        patch.setattr(play.queue, "send", lambda dispatches, _: [False] * len(dispatches))
        for from_at in (NOW, NOW + 2 * SECOND_MS):  # before the good job and after it
            play.clock.advance(from_at - play.clock.now())
            for _ in range(2 * PAGE + 1):
                trigger(play.context(), [Trigger(bad.key)])  # its run stays in the due index
                play.clock.advance(1)
    runs.unreadable = True
    sweeps = open_days_only(0)
    for _ in range(scans - 1):
        with pytest.raises(ValueError, match="no state"):
            scan(play.context(), 0, Owner("2026", "a"), sweeps)
    assert scan(play.context(), 0, Owner("2026", "a"), sweeps).sent == 1
    assert _states(play, [good]) == {RunState.QUEUED}
    runs.unreadable = False
    while scan(play.context(), 0, Owner("2026", "a"), sweeps).progressed:
        pass
    assert len(play.messages()) == 2 * (2 * PAGE + 1) + 1
    assert sweeps.failed == {}


def test_jobs_that_have_not_failed_are_scanned_before_jobs_that_have() -> None:
    """A read of all jobs at once would fail, and there is no time to bisect it."""
    play, hot, good, bad = _play()
    hot.refused = frozenset({"read jobs"})
    asked: list[list[JobKey]] = []
    jobs: Any = play.store.jobs
    read = jobs.read

    def noting(keys: Sequence[JobKey], *, with_work: bool = False, strong: bool = True) -> list[Job | None]:
        asked.append(list(keys))
        answer: list[Job | None] = read(keys, with_work=with_work, strong=strong)
        return answer

    jobs.read = noting
    sweeps = open_days_only(0)
    sweeps.failed[0, day_of(NOW)] = frozenset({bad.key})
    assert scan(play.context(), 0, Owner("2026", "a"), sweeps).sent == len(good)
    assert asked[0] == [job.key for job in good]
    assert [bad.key] in asked


def test_a_failing_batch_is_bisected_until_the_bad_item_is_alone(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[list[int]] = []

    def work(part: Sequence[int]) -> int:
        asked.append(list(part))
        if 3 in part:
            raise UnavailableError("not 3")
        return sum(part)

    with caplog.at_level(logging.WARNING):
        done, failed = bisect(work, range(8), VirtualClock(NOW), NOW + SECOND_MS)
    assert sum(done) == sum(range(8)) - 3
    assert [([*part], str(failure)) for part, failure in failed] == [([3], "not 3")]
    assert asked == [[*range(8)], [0, 1, 2, 3], [0, 1], [2, 3], [2], [3], [4, 5, 6, 7]]
    assert [record.message for record in caplog.records] == ["1 of 8 left for later: not 3"]


def test_after_the_time_limit_a_failing_batch_is_not_bisected() -> None:
    def work(part: Sequence[int]) -> int:
        raise UnavailableError(f"{len(part)} at once")

    done, failed = bisect(work, range(8), VirtualClock(NOW), NOW)
    assert done == []
    assert [([*part], str(failure)) for part, failure in failed] == [([*range(8)], "8 at once")]
    assert bisect(work, [], VirtualClock(NOW), NOW) == ([], [])
