"""While a call lasts, its executor takes what waits in its queue: a call that hangs holds a place, and no executor."""

from collections import Counter
from dataclasses import dataclass, field, replace

from tests.engine.play import NOW, NotingCaller, Play, inline, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.policy.places import PLACES, placed
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.execute import LOOK_EVERY_MS, execute
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer, Call
from timeball.testing.memory_queue import MemoryInbox

HANGS_MS = 200_000


class Hangs(NotingCaller):
    """Targets of `slow` hang, those of `step1`, `step2` ... take so many times 400 ms, those of others a moment."""

    async def call(self, call: Call) -> Answer:
        tenant = call.run.job.tenant
        self.takes_ms = HANGS_MS if tenant == "slow" else int(tenant.partition("step")[2] or 0) * 400 or 10
        return await super().call(call)


@dataclass(frozen=True)
class NotingInbox(MemoryInbox):
    """Notes how many messages are asked for."""

    asked: list[int] = field(default_factory=list)

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        self.asked.append(limit)
        return super().receive(limit, seconds)


def _play(**due: tuple[int, int]) -> Play:
    """Let tenants have so many runs due so many seconds after the start, sent one tenant after the other."""
    play = Play()
    play.caller = Hangs(play.clock)
    for tenant, (number, seconds) in due.items():
        jobs = [spec(f"job-{n}", At(NOW + seconds * SECOND_MS)) for n in range(number)]
        play.store_jobs(replace(one, key=JobKey(tenant, one.key.job_id)) for one in jobs)
        play.scan_all()
    return play


def _execute(play: Play, deadline_at: int | None = None) -> NotingInbox:
    """Let one executor work, and no other."""
    inbox = NotingInbox(play.queue, "normal")
    deliveries = play.queue.receive("normal")
    assert play.clock.run(execute(play.context(), inbox, play.caller, deliveries, "one", inline, deadline_at)) == []
    return inbox


def _called(play: Play, tenant: str) -> list[int]:
    return [at - NOW for at, call in play.caller.calls if call.run.job.tenant == tenant]


def test_while_a_call_hangs_its_executor_works_on_what_waits() -> None:
    play = _play(slow=(10, 0), quick=(25, 0))
    _execute(play)
    assert _called(play, "quick") == [LOOK_EVERY_MS] * 25
    assert play.messages() == []


def test_an_executor_whose_calls_are_answered_soon_asks_its_queue_for_nothing() -> None:
    play = _play(quick=(10, 5))
    play.clock.advance(2 * SECOND_MS)
    assert _execute(play).asked == []
    assert _called(play, "quick") == [5 * SECOND_MS] * 10


def test_a_tenant_whose_calls_hang_fills_half_of_an_executor_and_another_is_called_on_its_instant() -> None:
    play = _play(slow=(200, 0), quick=(30, 5))
    inbox = _execute(play, NOW + 900 * SECOND_MS)
    assert sum(at < HANGS_MS for at in _called(play, "slow")) == PLACES // 2
    assert _called(play, "quick")[:10] == [5 * SECOND_MS] * 10
    assert max(_called(play, "quick")) < 6.5 * SECOND_MS
    assert inbox.asked.count(1) > 300  # one at a time, as long as what waits has no place


def test_batches_that_end_again_and_again_keep_no_executor_from_taking_more() -> None:
    play, looked_at = _play(slow=(10, 0), **{f"step{n}": (10, 0) for n in range(1, 7)}), list[int]()

    class Noting(MemoryInbox):
        def receive(self, limit: int, seconds: int) -> list[Delivery]:
            looked_at.append(play.clock.now() - NOW)
            return super().receive(limit, seconds)

    deliveries, inbox = play.queue.receive("normal"), Noting(play.queue, "normal")
    assert play.clock.run(execute(play.context(), inbox, play.caller, deliveries, "one", inline)) == []
    assert {*range(LOOK_EVERY_MS, 5 * SECOND_MS, LOOK_EVERY_MS)} <= {*looked_at}


def test_what_has_no_place_comes_again_as_a_new_message_and_is_no_delivery_in_vain() -> None:
    play = _play(slow=(PLACES, 0))
    _execute(play, NOW + 900 * SECOND_MS)
    assert len(_called(play, "slow")) == PLACES
    assert max(_called(play, "slow")) < HANGS_MS + 5 * SECOND_MS
    assert (play.queue.dead, play.messages()) == ([], [])


def test_a_second_message_of_a_run_that_is_called_here_does_not_call_it_again() -> None:
    play = _play(slow=(10, 0))
    play.queue.send(play.queue.sent[:3], NOW)
    _execute(play)
    assert sorted(Counter(call.run for _, call in play.caller.calls).values()) == [1] * 10


def test_what_could_not_be_called_to_its_end_goes_back_and_is_then_asked_for_one_by_one() -> None:
    play = _play(slow=(10, 0), quick=(25, 0))
    inbox = _execute(play, NOW + 320_499)  # a run may take 300 s, and the last writes 20
    assert _called(play, "quick") == []
    assert len(play.messages()) == 25
    assert inbox.asked.count(10) < 10
    assert len(inbox.asked) <= HANGS_MS / LOOK_EVERY_MS + 10


def test_what_may_not_last_long_is_called_when_little_time_is_left() -> None:
    play = _play(slow=(10, 0))
    brief = spec("brief", At(NOW + 5 * SECOND_MS), timeout_seconds=30)
    play.store_jobs([replace(brief, key=JobKey("quick", "brief"))])
    play.scan_all()
    _execute(play, NOW + 320_499)
    assert _called(play, "quick") == [5 * SECOND_MS]


def test_an_executor_that_cannot_ask_its_queue_goes_on_with_what_it_has() -> None:
    play = _play(slow=(10, 0), quick=(25, 0))
    play.queue.receive("normal")

    class Mute(NotingInbox):
        def receive(self, limit: int, seconds: int) -> list[Delivery]:
            raise UnavailableError(f"{limit} messages for {seconds} s: no answer")

    deliveries = [Delivery(run.id, f"another-{n}") for n, run in enumerate(play.queue.sent[:10])]
    work = execute(play.context(), Mute(play.queue, "normal"), play.caller, deliveries, "one", inline)
    assert play.clock.run(work) == []
    assert len(_called(play, "slow")) == 10


def test_n_tenants_leave_the_n_and_first_part_of_the_places_free() -> None:
    for tenants in (1, 2, 3, 9, 30):
        asking = [f"tenant-{n % tenants}" for n in range(PLACES * tenants)]
        got = Counter(tenant for tenant, has in zip(asking, placed({}, asking), strict=True) if has)
        assert max(got.values()) - min(got.values()) <= 1
        assert PLACES - got.total() >= PLACES // (tenants + 1)
        assert placed(got, ["somebody else"]) == [True]
