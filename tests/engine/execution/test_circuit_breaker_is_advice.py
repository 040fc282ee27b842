"""A host's row is only advice: if it cannot be written, or keeps changing, runs are called nevertheless."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import Service, at
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.model.ids import JobKey
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.schedule import At
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_rows import Memory, MemoryRows
from timeball.testing.memory_store import MemoryStore

KEY = CircuitKey("acme", "https://target.example")
FAILED_LATELY = Circuit(KEY, failures=2)
RESTED = Circuit(KEY, failures=5, openings=1, open_until=NOW)


class Contested(MemoryRows[CircuitKey, Circuit]):
    """A store of hosts in which another writer always comes first."""

    def swap(self, swaps: Sequence[Swap[Circuit]], now: int) -> list[Swapped[Circuit]]:
        for row in self.read([swap.before.key for swap in swaps]):
            assert row is not None
            super().swap([Swap(row, row)], now)
        return super().swap(swaps, now)


class Refusing(MemoryRows[CircuitKey, Circuit]):
    """A store of hosts that refuses every change."""

    def __init__(self, memory: Memory, error: Exception) -> None:
        super().__init__(memory)
        self.error = error

    def swap(self, swaps: Sequence[Swap[Circuit]], now: int) -> list[Swapped[Circuit]]:
        if swaps:
            raise self.error
        return super().swap(swaps, now)


# The host's row when a batch of a retry at 3 s and nine first calls at 3.9 s is claimed.
ROWS = {"failed lately": FAILED_LATELY, "its rest is over": RESTED}


@pytest.mark.parametrize("case", ROWS)
def test_no_run_is_called_before_its_instant_however_often_its_hosts_row_changes(case: str) -> None:
    play = Play(MemoryStore(circuits=Contested))
    soon = spec("soon", At(NOW), replace(PLAIN_RETRY, base_seconds=3))
    with Service(play) as service:
        play.store_jobs([soon, *[spec(f"later-{n}", At(at(3.9))) for n in range(9)]])
        play.store.circuits.insert([ROWS[case]], NOW)
        service.target.statuses = [503]
        service.until(at(180))
    calls = service.target.calls
    assert len(calls) == 11
    assert [call.run for called_at, call in calls if called_at < call.run.fire_at] == []


def test_a_row_that_keeps_changing_delays_no_run_while_its_circuit_is_closed() -> None:
    play = Play(MemoryStore(circuits=Contested))
    soon = spec("soon", At(NOW), replace(PLAIN_RETRY, base_seconds=3))
    with Service(play) as service:
        play.store_jobs([soon, *[spec(f"later-{n}", At(at(3.9))) for n in range(9)]])
        play.store.circuits.insert([FAILED_LATELY], NOW)
        service.target.statuses = [503]
        service.until(at(60))
    assert [called_at for called_at, _ in service.target.calls] == [NOW, at(3)] + [at(3.9)] * 9


@pytest.mark.parametrize("error", [ValueError("refused"), UnavailableError("throttled")], ids=repr)
def test_a_row_that_cannot_be_written_prevents_no_call(error: Exception) -> None:
    play = Play(MemoryStore(circuits=lambda memory: Refusing(memory, error)))
    with Service(play) as service:
        (job,) = play.store_jobs([spec("job", At(NOW))])
        play.store.circuits.insert([RESTED], NOW)
        service.until(at(10))
    assert [called_at for called_at, _ in service.target.calls] == [NOW]
    (run,) = play.runs(job.key)
    assert (run.state, run.reason) == (RunState.SUCCEEDED, None)


def test_a_row_that_cannot_be_written_still_shows_that_its_circuit_is_open() -> None:
    play = Play(MemoryStore(circuits=lambda memory: Refusing(memory, ValueError("refused"))))
    with Service(play) as service:
        play.store_jobs([spec("job", At(NOW))])
        play.store.circuits.insert([replace(RESTED, open_until=at(30))], NOW)
        service.until(at(1))
        (run,) = play.runs(JobKey("acme", "job"))
        assert (run.state, run.reason) == (RunState.QUEUED, Reason.CIRCUIT_OPEN)
        service.until(at(90))
    assert len(service.target.calls) == 1
    assert service.target.calls[0][0] >= at(30)
