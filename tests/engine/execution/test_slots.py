"""The capacity of an executor: lent to higher priorities, shared by weight, and waited for in the executor itself."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.engine.hanging import HANGS_MS, Hangs, called
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Priority
from timeball.domain.sharing.capacity import CAPACITY, MINIMUMS
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Context
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Offload, Term
from timeball.testing.at_work import inline
from timeball.testing.memory_queue import handed_out


def _played(*due: tuple[str, Priority, int, int]) -> Play:
    """Store runs of tenants and priorities, due some seconds after the start, and send them one after the other."""
    play = Play()
    play.caller = Hangs(play.clock)
    for tenant, priority, number, seconds in due:
        jobs = [spec(f"{priority}-{n}", At(NOW + seconds * SECOND_MS)) for n in range(number)]
        play.store_jobs(replace(one, key=JobKey(tenant, one.key.job_id), priority=priority) for one in jobs)
        play.scan_all()
    return play


def _executed(
    play: Play,
    priority: Priority = Priority.NORMAL,
    context: Context | None = None,
    deadline_at: int | None = None,
    offload: Offload = inline,
) -> None:
    """Let a single executor of a priority work."""
    names = [*Priority]
    above = [play.queue.inbox(name) for name in names[: names.index(priority)]]
    deliveries, inbox = play.queue.receive(priority), play.queue.inbox(priority)
    term = Term(deadline_at, above=above)
    work = execute(context or play.context(), inbox, play.caller, deliveries, "one", offload, term)
    assert play.clock.run(handed_out(inbox, deliveries, work)) == []


def _begun(play: Play, before_ms: int = HANGS_MS) -> Counter[str]:
    """Return the number of calls of each priority that began in the first moments."""
    return Counter(call.run.job.job_id.partition("-")[0] for at, call in play.caller.calls if at < NOW + before_ms)


def test_an_executor_of_low_lends_capacity_to_high_and_keeps_its_minimum() -> None:
    play = _played(("slow", Priority.HIGH, 60, 5), ("slow", Priority.LOW, 10, 5))
    play.clock.advance(2 * SECOND_MS)
    _executed(play, Priority.LOW)
    begun = _begun(play)
    assert begun["low"] == MINIMUMS[2]
    assert begun["high"] >= CAPACITY // 2 - MINIMUMS[2]
    assert len(called(play, "slow")) == 70


def test_it_lends_capacity_even_if_its_own_runs_are_late() -> None:
    play = _played(("slow", Priority.HIGH, 60, 0), ("slow", Priority.LOW, 10, 0))
    play.clock.advance(20 * SECOND_MS)
    _executed(play, Priority.LOW)
    assert _begun(play)["low"] == MINIMUMS[2]


def test_while_no_higher_priority_waits_low_gets_all_that_a_tenant_may_have() -> None:
    play = _played(("slow", Priority.LOW, 60, 0))
    _executed(play, Priority.LOW)
    assert _begun(play)["low"] == CAPACITY // 2


def test_another_tenant_of_low_is_called_on_its_instant_beside_a_flood_of_high() -> None:
    play = _played(
        ("slow", Priority.LOW, 10, 0), ("slow", Priority.HIGH, 200, 0), ("quick", Priority.LOW, MINIMUMS[2], 5)
    )
    _executed(play, Priority.LOW, deadline_at=NOW + 900 * SECOND_MS)
    assert called(play, "quick") == [5 * SECOND_MS] * MINIMUMS[2]


def test_an_executor_of_high_takes_nothing_of_lower_priorities() -> None:
    play = _played(("slow", Priority.HIGH, 10, 0), ("quick", Priority.NORMAL, 10, 0), ("quick", Priority.LOW, 10, 0))
    _executed(play, Priority.HIGH)
    assert _begun(play) == {"high": 10}


def _weighing(play: Play, asked: list[Sequence[str]]) -> Context:
    def weights_of(tenants: Sequence[str]) -> Mapping[str, int]:
        asked.append(tenants)
        return {"slow": 5}

    return replace(play.context(), weights_of=weights_of)


def _contending() -> Play:
    """Give two tenants a hundred runs each, and send five of one and five of the other in turn."""
    play = Play()
    play.caller = Hangs(play.clock)
    for number in range(0, 100, 5):
        for tenant in ("slow", "step400"):
            jobs = [spec(f"job-{number + n}", At(NOW + 5 * SECOND_MS)) for n in range(5)]
            play.store_jobs(replace(one, key=JobKey(tenant, one.key.job_id)) for one in jobs)
            play.scan_all()
    play.clock.advance(2 * SECOND_MS)
    return play


def _begun_on_time(play: Play) -> list[int]:
    return [sum(at == 5 * SECOND_MS for at in called(play, tenant)) for tenant in ("slow", "step400")]


def test_contending_tenants_share_the_capacity_by_weight() -> None:
    play, asked = _contending(), list[Sequence[str]]()
    _executed(play, context=_weighing(play, asked))
    heavy, light = _begun_on_time(play)
    assert 4 <= heavy / light <= 6
    assert len(asked) <= 1 + (play.clock.now() - NOW) // MINUTE_MS


def test_the_shares_are_by_weight_although_a_slow_queue_has_delivered_only_part_at_the_first_claim() -> None:
    play, asked = _contending(), list[Sequence[str]]()

    async def slowly(work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if work.__name__ == "receive":
            await play.clock.sleep_until(play.clock.now() + 300)
        return work(*args, **kwargs)

    _executed(play, context=_weighing(play, asked), offload=slowly)
    heavy, light = _begun_on_time(play)
    assert light <= 20
    assert heavy >= 2 * light


def test_a_single_tenant_costs_no_request_for_its_weight() -> None:
    play, asked = _played(("slow", Priority.NORMAL, 100, 0)), list[Sequence[str]]()
    _executed(play, context=_weighing(play, asked))
    assert (len(called(play, "slow")), asked) == (100, [])


def test_a_kept_message_begins_as_soon_as_capacity_is_free() -> None:
    play = _played(("step3", Priority.NORMAL, 200, 0))
    _executed(play)
    assert called(play, "step3").count(1_200) == 10  # between two polls: the first ten calls have ended
    assert play.messages() == []


def test_an_ending_executor_keeps_no_message_and_those_it_kept_come_again() -> None:
    play = _played(("slow", Priority.HIGH, 60, 0), ("slow", Priority.LOW, 10, 0))
    _executed(play, Priority.LOW, deadline_at=NOW + 352 * SECOND_MS)
    assert _begun(play)["low"] == MINIMUMS[2]
    left = Counter(run.job.job_id.partition("-")[0] for run, _ in play.messages())
    assert left["low"] == 10 - MINIMUMS[2]
