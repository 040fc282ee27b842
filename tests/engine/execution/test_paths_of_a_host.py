"""A failing path does not block other paths of its host, and a dead host costs few calls on all its paths together."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play
from tests.engine.service import Service, Target, at
from timeball.domain.attempts.circuit_breaker import MOST_SEGMENTS, CircuitKey
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.context import Rules
from timeball.ports.target import Answer, Call
from timeball.targets.calls import unanswered

ORIGIN = "https://target.example"
ONCE = replace(PLAIN_RETRY, max_retries=0)
STUBBORN = RetryPolicy(max_retries=20, base_seconds=5, max_seconds=600)
FIRST_AT = at(4.75)
"""A whole second, which scans see as early as any other."""


@dataclass
class Paths(Target):
    """A host on which some paths hang until the call times out, and which may refuse all connections."""

    hanging: set[str] = field(default_factory=set)
    hangs_ms: int = 2 * SECOND_MS
    refuses_from: int | None = None

    async def call(self, call: Call) -> Answer:
        called_at, path = self.clock.now(), _path(call)
        if self.refuses_from is not None and called_at >= self.refuses_from:
            self.calls.append((called_at, call))
            return unanswered(call, None, called_at, "It refused the connection.")
        if path in self.hanging:
            self.calls.append((called_at, call))
            await self.clock.sleep_until(called_at + self.hangs_ms)
            return unanswered(call, called_at, self.clock.now(), "It did not answer in time.", timed_out=True)
        return await super().call(call)

    def of(self, path: str) -> list[int]:
        """Return when a path was called."""
        return [called_at for called_at, call in self.calls if _path(call) == path]


def _path(call: Call) -> str:
    assert isinstance(call.work.target, HttpTarget)
    return call.work.target.url.removeprefix(ORIGIN)


@dataclass
class Stage:
    service: Service
    target: Paths

    def store(self, name: str, path: str, timing: Timing, seconds: float = 3600, retry: RetryPolicy = ONCE) -> None:
        schedule = Schedule(timing) if isinstance(timing, At) else Schedule(timing, end_at=at(seconds))
        key = JobKey("acme", name)
        self.service.play.store_jobs(
            [JobSpec(key, schedule, Work(HttpTarget(ORIGIN + path)), f"print-{name}", retry=retry)]
        )

    def lateness(self, path: str) -> list[int]:
        """Return how many ms after its instant each call of a path left."""
        return [called_at - call.run.fire_at for called_at, call in self.target.calls if _path(call) == path]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Service(Play()) as service:
        service.target = target = Paths(service.play.clock)
        yield Stage(service, target)


def test_timeouts_of_one_path_block_no_other_path(stage: Stage) -> None:
    stage.target.hanging = {"/slow/report"}
    stage.store("slow", "/slow/report", Every(1, NOW), 200)
    stage.store("fast", "/fast", Every(1, NOW), 200)
    stage.service.until(at(210))
    assert len(stage.target.of("/fast")) == 201
    assert set(stage.lateness("/fast")) == {0}
    # Five calls, and those that left meanwhile; then a probe after 30, 60 and 120 s.
    assert 5 <= len(stage.target.of("/slow/report")) <= 12


def test_paths_with_the_same_first_segment_share_a_circuit(stage: Stage) -> None:
    stage.store("daily", "/reports/daily?day=1", Every(1, NOW), 20)
    stage.target.hanging = {"/reports/daily?day=1"}
    stage.store("weekly", "/reports/weekly", At(at(25)))
    stage.service.until(at(26))
    (run,) = stage.service.play.runs(JobKey("acme", "weekly"))
    assert (run.reason, run.attempt) == (Reason.CIRCUIT_OPEN, 0)


def test_three_open_segments_open_the_circuit_of_their_host(stage: Stage) -> None:
    stage.target.hanging = {"/a", "/b", "/c"}
    for path in sorted(stage.target.hanging):
        stage.store(path[1:], path, Every(1, NOW), 15)
    stage.store("late", "/late", At(at(20)))
    stage.service.until(at(21))
    (run,) = stage.service.play.runs(JobKey("acme", "late"))
    assert (run.reason, run.attempt) == (Reason.CIRCUIT_OPEN, 0)


def test_two_open_segments_leave_their_host_available_to_others(stage: Stage) -> None:
    stage.target.hanging = {"/a", "/b"}
    for path in sorted(stage.target.hanging):
        stage.store(path[1:], path, Every(1, NOW), 120)
    stage.store("fine", "/fine", Every(1, NOW), 120)
    stage.service.until(at(130))
    assert set(stage.lateness("/fine")) == {0}


def test_a_host_that_refuses_connections_is_not_called_on_any_path(stage: Stage) -> None:
    stage.target.refuses_from = NOW
    for number in range(5):
        stage.store(f"job-{number}", f"/{number}", At(at(number)))
    stage.store("other", "/other", At(at(10)))
    stage.service.until(at(11))
    (run,) = stage.service.play.runs(JobKey("acme", "other"))
    assert (run.reason, run.attempt) == (Reason.CIRCUIT_OPEN, 0)


def test_a_probe_that_connects_closes_a_circuit_that_refusals_opened(stage: Stage) -> None:
    """The path of the probe hangs, but the host accepts connections again: other paths do not pay for that path."""
    stage.target.refuses_from = NOW
    for number in range(5):
        stage.store(f"job-{number}", f"/{number}", At(at(number)))
    stage.service.until(at(20))
    stage.target.refuses_from, stage.target.hanging = None, {"/slow"}
    stage.store("slow", "/slow", At(at(40)))
    stage.store("fine", "/fine", At(at(50)))
    stage.service.until(at(51))
    assert len(stage.target.of("/slow")) == 1
    assert stage.lateness("/fine") == [0]


def test_a_thousand_paths_of_a_dead_host_cost_at_most_twenty_calls_in_the_first_minute(stage: Stage) -> None:
    """The calls are due throughout the minute, as evenly as whole seconds allow: seventeen in the first.

    All of these have left before one of them is refused. The claims of the next second know of the refusal, and a probe
    follows.
    """
    stage.target.refuses_from = NOW
    for number in range(1000):
        fire_at = FIRST_AT + number * 60 // 1000 * SECOND_MS
        stage.store(f"job-{number}", f"/{number}/hook", At(fire_at), retry=STUBBORN)
    stage.service.until(FIRST_AT + MINUTE_MS)
    assert [called_at for called_at, _ in stage.target.calls].count(FIRST_AT) == 17
    assert len(stage.target.calls) <= 20


def test_a_thousand_runs_of_one_instant_call_a_dead_host_at_most_once_each(stage: Stage) -> None:
    """All calls of one instant leave before the first answer is known. Their retries know of it."""
    stage.target.refuses_from = NOW
    for number in range(1000):
        stage.store(f"job-{number}", f"/{number}/hook", At(FIRST_AT), retry=STUBBORN)
    stage.service.until(FIRST_AT + MINUTE_MS)
    at_once = [call.run for called_at, call in stage.target.calls if called_at == FIRST_AT]
    assert len(at_once) == len({*at_once}) <= 1000
    assert len(stage.target.calls) - len(at_once) <= 2


def test_a_host_with_a_thousand_hanging_paths_is_not_called_either(stage: Stage) -> None:
    """No path fails twice. Paths for which the row has no room count for the host itself."""
    stage.target.hanging = {f"/{number}" for number in range(1000)}
    stage.target.hangs_ms = SECOND_MS // 2
    for number in range(1000):
        stage.store(f"job-{number}", f"/{number}", At(FIRST_AT + number * 60 // 1000 * SECOND_MS))
    stage.service.until(FIRST_AT + MINUTE_MS)
    (row,) = stage.service.play.store.circuits.read([CircuitKey("acme", ORIGIN)])
    assert row is not None
    assert len(row.segments) == MOST_SEGMENTS
    # Seventeen calls in each of two seconds are in flight at once; then a probe follows.
    assert len(stage.target.calls) <= MOST_SEGMENTS + Rules().circuits.failures + 2 * 17 + 2


def test_a_host_whose_paths_all_answer_has_no_row(stage: Stage) -> None:
    stage.store("fine", "/fine", Every(1, NOW), 10)
    stage.service.until(at(11))
    assert stage.service.play.store.circuits.read([CircuitKey("acme", ORIGIN)]) == [None]


def test_a_path_that_answers_again_is_forgotten(stage: Stage) -> None:
    stage.target.hanging = {"/slow"}
    stage.store("slow", "/slow", Every(1, NOW), 10 * MINUTE_MS // SECOND_MS)
    stage.service.until(at(20))
    (row,) = stage.service.play.store.circuits.read([CircuitKey("acme", ORIGIN)])
    assert row is not None
    assert [one.name for one in row.segments] == ["slow"]
    stage.target.hanging = set()
    stage.service.until(at(120))
    (row,) = stage.service.play.store.circuits.read([CircuitKey("acme", ORIGIN)])
    assert row is not None
    assert row.segments == ()
