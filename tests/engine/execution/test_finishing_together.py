"""Finishes of a batch are written together if their answers arrive within moments; none waits long for another."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.schedule import At
from timeball.engine.execution.finish import TOGETHER_MS
from timeball.ports.rows import Swap, Swapped
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered
from timeball.testing.faults import each_port

CASES: dict[str, tuple[list[int], list[int]]] = {
    # how long (ms) each call takes, and how many finishes are written at once
    "all at the same moment": ([5] * 10, [10]),
    "one after the other, within a moment": ([5, 6, 7, 8, 9, 10, 11, 12, 13, 14], [10]),
    "one that is slow": ([5, 5, 5, 5, 5, 5, 5, 5, 5, 9_000], [9, 1]),
    "in two crowds": ([5, 5, 5, 5, 5, 500, 500, 500, 500, 500], [5, 5]),
    "one alone": ([5], [1]),
}


class NotingRuns:
    """The runs of a store that notes which ends are written together, and when."""

    def __init__(self, runs: Any) -> None:
        self._runs = runs
        self.written: list[tuple[int, list[Run]]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._runs, name)

    def swap(self, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        ended = [swap.after for swap in swaps if swap.after.state is RunState.SUCCEEDED]
        self.written += [(now, ended)] if ended else []
        swapped: list[Swapped[Run]] = self._runs.swap(swaps, now)
        return swapped


@pytest.mark.parametrize("case", CASES)
def test_runs_that_are_answered_within_moments_are_written_together(case: str) -> None:
    takes_ms, together = CASES[case]
    play = Play()
    runs = NotingRuns(play.store.runs)
    play.store = each_port(play.store, lambda port, called: runs if called == "runs." else port)

    async def call(call: Call) -> Answer:
        called_at = play.clock.now()
        await play.clock.sleep_until(called_at + takes_ms[int(call.run.job.job_id)])
        return answered(call, called_at, play.clock.now(), 200)

    play.caller.call = call  # type: ignore[method-assign]
    jobs = play.store_jobs([spec(str(number), At(NOW)) for number in range(len(takes_ms))])
    play.scan_all()
    play.drain()
    assert {play.runs(job.key)[0].state for job in jobs} == {RunState.SUCCEEDED}
    assert [len(ended) for _, ended in runs.written] == together
    for at, ended in runs.written:
        assert all(0 <= at - NOW - takes_ms[int(run.id.job.job_id)] <= TOGETHER_MS for run in ended)
    assert max(at for at, _ in runs.written) - NOW == max(takes_ms)
