"""Messages arrive seconds before their runs' instants; an executor waits, and claims each run shortly before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.attempts.claim import CLAIM_AHEAD_MS, EARLIEST_CLAIM_MS
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.changes.change import cancel, pause
from timeball.engine.context import Rules
from timeball.engine.execution.acknowledge import waves_of
from timeball.engine.execution.claim import claim
from timeball.engine.execution.execute import execute
from timeball.ports.queue import Delivery, Inbox
from timeball.testing.at_work import inline
from timeball.testing.memory_queue import MemoryInbox

_P = ParamSpec("_P")
_T = TypeVar("_T")

DUE_AT = NOW + 5 * SECOND_MS
EARLIEST_MS = 1_000


@dataclass
class Executor:
    """An executor that notes its claims, and may trigger an event at an instant."""

    play: Play
    at: int = 0
    happens: Callable[[], object] = lambda: None
    hidden: Callable[[int], None] = lambda _: None

    def __post_init__(self) -> None:
        self.claims: list[tuple[int, int]] = []

    def work(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        return self.play.clock.run(self._work(deliveries))

    async def _work(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        inbox: Inbox = _NotingInbox(self.play.queue, "normal", self.hidden)
        return await execute(self.play.context(), inbox, self.play.caller, deliveries, "one", self._offload)

    async def _offload(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if work.__name__ == "claim_runs":
            if self.at and self.play.clock.now() >= self.at:
                self.happens()
            (runs,) = args
            assert isinstance(runs, list)
            self.claims.append((self.play.clock.now(), len(runs)))
        return await inline(work, *args, **kwargs)


@dataclass(frozen=True)
class _NotingInbox(MemoryInbox):
    note: Callable[[int], None]

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        if deliveries:
            self.note(seconds)
        super().hide(deliveries, seconds)


def _sent(*due_at: int, overlap: OverlapPolicy = OverlapPolicy.ALLOW) -> tuple[Play, list[Job]]:
    """Return jobs whose runs have been sent, at the moment when the first of their messages arrives."""
    play = Play()
    jobs = play.store_jobs(replace(spec(f"job-{at - NOW}", At(at)), overlap=overlap) for at in due_at)
    play.scan_all()
    play.clock.advance(max(0, min(comes_at for _, comes_at in play.messages()) - play.clock.now()))
    return play, jobs


@pytest.mark.parametrize("ahead_ms", [3_000, 3_001, 3_999, 4_000, 4_999, 5_000])
def test_a_message_arrives_before_its_instant_by_at_most_the_lead_and_a_second(ahead_ms: int) -> None:
    play, _ = _sent(NOW + ahead_ms)
    (delivery,) = play.queue.receive("normal")
    assert delivery.not_before == NOW + ahead_ms
    assert 3_000 <= delivery.not_before - play.clock.now() < 4_000


def test_a_run_is_claimed_half_a_second_before_its_instant_and_called_at_its_instant() -> None:
    play, (job,) = _sent(DUE_AT)
    executor = Executor(play)
    assert executor.work(play.queue.receive("normal")) == []
    assert executor.claims == [(DUE_AT - CLAIM_AHEAD_MS, 1)]
    assert [called_at for called_at, _ in play.caller.calls] == [DUE_AT]
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_a_run_that_waits_in_an_executor_has_no_owner_until_its_claim() -> None:
    play, (job,) = _sent(DUE_AT)
    executor = Executor(play, at=DUE_AT - EARLIEST_MS, happens=lambda: seen.extend(play.runs(job.key)))
    seen: list[object] = []
    before = play.runs(job.key)
    executor.work(play.queue.receive("normal"))
    assert seen == before
    assert before[0].state is RunState.QUEUED


@pytest.mark.parametrize("change", [cancel, pause])
def test_a_run_that_is_withdrawn_while_it_waits_in_an_executor_is_never_claimed(change: Callable[..., object]) -> None:
    play, (job,) = _sent(DUE_AT)

    def take_back() -> None:
        change(play.context(), [(job.key, None)])

    deliveries = play.queue.receive("normal")
    Executor(play, at=DUE_AT - EARLIEST_MS, happens=take_back).work(deliveries)
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt) == (RunState.CANCELLED if change is cancel else RunState.WITHDRAWN, 0)
    assert play.caller.calls == []
    assert play.job(job.key).status is (JobStatus.CANCELLED if change is cancel else JobStatus.PAUSED)


def test_two_instants_in_one_batch_are_claimed_one_after_the_other_and_run_at_the_same_time() -> None:
    instants = (DUE_AT - SECOND_MS, DUE_AT, DUE_AT)
    play = Play()
    play.caller.takes_ms = 40 * SECOND_MS
    jobs = play.store_jobs(spec(f"job-{number}", At(at)) for number, at in enumerate(instants))
    play.scan_all()
    play.clock.advance(2 * SECOND_MS)
    executor = Executor(play)
    assert executor.work(play.queue.receive("normal")) == []
    assert executor.claims == [(DUE_AT - SECOND_MS - CLAIM_AHEAD_MS, 1), (DUE_AT - CLAIM_AHEAD_MS, 2)]
    assert [called_at for called_at, _ in play.caller.calls] == [*instants]
    assert play.clock.now() == DUE_AT + play.caller.takes_ms
    assert {(run.state, run.attempt) for job in jobs for run in play.runs(job.key)} == {(RunState.SUCCEEDED, 1)}


def test_a_message_stays_hidden_while_its_run_waits_and_until_its_claim_may_be_taken_over() -> None:
    play, _ = _sent(DUE_AT)
    hidden: list[int] = []
    (delivery,) = play.queue.receive("normal")
    received_at = play.clock.now()
    Executor(play, hidden=hidden.append).work([delivery])
    over_at = DUE_AT - CLAIM_AHEAD_MS + play.rules.lease_ms + play.rules.margin_ms
    assert over_at <= received_at + hidden[0] * SECOND_MS < over_at + SECOND_MS


@pytest.mark.parametrize(
    ("late_ms", "claimed_at"),
    [
        (0, [DUE_AT - 3 * SECOND_MS]),
        (SECOND_MS + 500, [DUE_AT - SECOND_MS - 500, DUE_AT - EARLIEST_CLAIM_MS]),
        (2 * SECOND_MS, [DUE_AT - SECOND_MS]),
    ],
)
def test_a_message_without_an_instant_claims_no_run_more_than_a_second_ahead(
    late_ms: int, claimed_at: list[int]
) -> None:
    play, (job,) = _sent(DUE_AT)
    play.clock.advance(late_ms)
    executor = Executor(play)
    executor.work([replace(delivery, not_before=None) for delivery in play.queue.receive("normal")])
    assert executor.claims == [(at, 1) for at in claimed_at]
    if not late_ms:  # the message comes again, a second before
        assert play.messages() == [(play.runs(job.key)[0].id, DUE_AT - EARLIEST_CLAIM_MS)]
        play.clock.advance(DUE_AT - EARLIEST_CLAIM_MS - play.clock.now())
        executor.work(play.queue.receive("normal"))
    assert [called_at for called_at, _ in play.caller.calls] == [DUE_AT]


def test_a_message_that_arrives_much_too_early_is_put_back_until_its_lead() -> None:
    play, (job,) = _sent(DUE_AT)
    (delivery,) = play.queue.receive("normal")
    early = replace(delivery, not_before=NOW + 3_600 * SECOND_MS)
    assert Executor(play).work([early]) == [early]
    ((_, comes_at),) = play.messages()
    assert comes_at == play.clock.now() + 900 * SECOND_MS  # the longest delay of its queue
    assert play.runs(job.key)[0].state is RunState.QUEUED


def test_a_run_that_must_wait_for_less_than_another_second_waits_in_the_executor_with_all_its_messages() -> None:
    play, (first, second) = _sent(DUE_AT - 1, DUE_AT - 2)
    deliveries = play.queue.receive("normal")
    taken = next(one for one in deliveries if one.run.job == first.key)
    lease_ms = play.rules.lease_ms + play.rules.margin_ms
    play.clock.advance(DUE_AT - SECOND_MS - play.clock.now())
    assert claim(play.context(), [taken.run], "an executor that dies")[0].is_mine
    play.clock.advance(lease_ms - 400)
    executor = Executor(play)
    returned = executor.work([*deliveries, replace(taken, receipt="a copy")])
    assert [one.receipt for one in returned] == ["a copy"]
    now = DUE_AT - SECOND_MS + lease_ms
    assert executor.claims == [(now - 400, 2), (now, 1)]
    assert [(call.run.job, call.attempt) for _, call in play.caller.calls] == [(second.key, 1), (first.key, 2)]


RULES = Rules()
# Columns: when messages are due, in ms from now, and when which of them are claimed.
WAVES = {
    "what is late is claimed at once, in the order in which it came": ([-9, -60_000, 300], [(0, [-9, -60_000, 300])]),
    "half a second before": ([3_500], [(3_000, [3_500])]),
    "together with what comes half a second later": (
        [3_000, 3_500, 3_501],
        [(2_500, [3_000, 3_500]), (3_001, [3_501])],
    ),
    "never more than a second early": ([3_000, 3_400, 3_800], [(2_500, [3_000, 3_400]), (3_300, [3_800])]),
    "what clocks may be apart is waited for": ([9_000], [(8_500, [9_000])]),
    "and no more than that": ([9_001], []),
}


@pytest.mark.parametrize("case", WAVES)
def test_runs_are_claimed_in_waves_by_their_instants(case: str) -> None:
    ahead, expected = WAVES[case]
    play, _ = _sent(DUE_AT)
    (one,) = play.queue.receive("normal")
    deliveries = [Delivery(replace(one.run, fire_at=number), f"{number}", NOW + ms) for number, ms in enumerate(ahead)]
    waves, too_early = waves_of(deliveries, NOW, RULES)
    found = [(wave.claim_at - NOW, [(each.not_before or 0) - NOW for each in wave.deliveries]) for wave in waves]
    assert found == expected
    assert len(too_early) == len(ahead) - sum(len(claimed) for _, claimed in expected)


@pytest.mark.parametrize(
    ("takes_ms", "late_ms"),
    [
        (0, 0),
        (CLAIM_AHEAD_MS, 0),
        (CLAIM_AHEAD_MS + 200, 200),  # a call waits for the things it needs
    ],
)
def test_the_inputs_of_a_call_are_fetched_before_its_instant(takes_ms: int, late_ms: int) -> None:
    play, _ = _sent(DUE_AT)
    play.caller.takes_to_prepare_ms = takes_ms
    assert Executor(play).work(play.queue.receive("normal")) == []
    ((prepared_at, prepared),) = play.caller.prepared
    ((called_at, called),) = play.caller.calls
    assert (prepared_at, called_at) == (DUE_AT - CLAIM_AHEAD_MS, DUE_AT + late_ms)
    assert prepared == called
