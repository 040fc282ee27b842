"""Runs that an executor works on at the same time share the cost of its time; it is charged once."""

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.in_flight import Hands
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered


def test_three_runs_share_the_time_from_the_first_to_the_last() -> None:
    hands = Hands()
    came = hands.take(3, 1_000)
    assert [hands.leave(came, at) for at in (1_300, 1_300, 11_300)] == [100, 100, 10_100]


def test_a_later_run_shares_the_time_from_its_start_on() -> None:
    hands = Hands()
    first, second = hands.take(1, 1_000), hands.take(1, 2_000)
    assert [hands.leave(second, 4_000), hands.leave(first, 5_000)] == [1_000, 3_000]


def test_a_run_that_leaves_an_idle_executor_is_charged_nothing_more() -> None:
    hands = Hands()
    came = hands.take(1, 0)
    assert [hands.leave(came, at) for at in (70, 100)] == [70, 70]


def test_a_slow_run_pays_for_its_time_alone_and_the_batch_is_shared() -> None:
    play = Play()

    async def call(call: Call) -> Answer:
        called_at = play.clock.now()
        await play.clock.sleep_until(called_at + (9 if call.run.job.job_id == "slow" else 1) * SECOND_MS)
        return answered(call, called_at, play.clock.now(), 200)

    play.caller.call = call  # type: ignore[method-assign]
    play.store_jobs([spec(name, At(NOW)) for name in ("quick", "slow")])
    play.scan_all()
    play.drain()
    spent = {name: play.runs(JobKey("acme", name))[0].spent for name in ("quick", "slow")}
    assert {name: one.executor_ms for name, one in spent.items()} == {"quick": 500, "slow": 8_500}
    assert {one.batches for one in spent.values()} == {500}
