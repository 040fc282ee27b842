"""During a call its executor takes waiting messages from its queue: a hanging call uses up only its own capacity."""

import asyncio
from collections import Counter

from tests.engine.hanging import HANGS_MS, NotingInbox, called, executed, played
from tests.engine.play import NOW
from timeball.domain.sharing.capacity import CAPACITY
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.execution.execute import execute
from timeball.engine.execution.more_messages import LOOK_EVERY_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.testing.at_work import inline
from timeball.testing.memory_queue import MemoryInbox


def test_while_a_call_hangs_its_executor_works_on_waiting_messages() -> None:
    play = played(slow=(10, 0), quick=(25, 0))
    executed(play)
    assert called(play, "quick") == [LOOK_EVERY_MS] * 25
    assert play.messages() == []


def test_an_executor_whose_calls_are_answered_soon_does_not_poll_its_queue() -> None:
    play = played(quick=(9, 5))
    play.clock.advance(2 * SECOND_MS)
    assert executed(play).asked == []
    assert called(play, "quick") == [5 * SECOND_MS] * 9


def test_an_executor_with_a_full_batch_takes_further_messages_while_its_runs_wait() -> None:
    play = played(quick=(15, 5), step1=(25, 5))
    play.clock.advance(2 * SECOND_MS)
    assert executed(play).asked == [10] * 5  # the fourth time nothing comes; the fifth is just before the claim
    assert called(play, "quick") + called(play, "step1") == [5 * SECOND_MS] * 40


def test_an_executor_that_found_nothing_more_polls_again_just_before_it_claims() -> None:
    play, looked_at = played(quick=(12, 5)), list[int]()
    play.clock.advance(2 * SECOND_MS)

    class EmptyAtFirst(MemoryInbox):
        def receive(self, limit: int, seconds: int) -> list[Delivery]:
            looked_at.append(play.clock.now() - NOW)
            return super().receive(limit, seconds) if len(looked_at) > 1 else []

    deliveries, inbox = play.queue.receive("normal"), EmptyAtFirst(play.queue, "normal")
    assert play.clock.run(execute(play.context(), inbox, play.caller, deliveries, "one", inline)) == []
    assert {*looked_at} == {2_500, 4_000}
    assert called(play, "quick") == [5 * SECOND_MS] * 12


def test_an_executor_of_which_one_tenant_has_half_takes_no_further_messages() -> None:
    play = played(quick=(CAPACITY // 2 + 20, 5))
    play.clock.advance(2 * SECOND_MS)
    assert executed(play).asked == [10] * 4
    assert called(play, "quick") == [5 * SECOND_MS] * (CAPACITY // 2)


def test_a_tenant_whose_calls_hang_fills_half_of_an_executor_and_another_is_called_on_its_instant() -> None:
    play = played(slow=(200, 0), quick=(30, 5))
    inbox = executed(play, NOW + 900 * SECOND_MS)
    assert sum(at < HANGS_MS for at in called(play, "slow")) == CAPACITY // 2
    assert max(called(play, "quick")) < 5.1 * SECOND_MS
    assert len(inbox.asked) < 5 * 3 * HANGS_MS // SECOND_MS  # 150 wait, and each is kept here for up to 8 s


def test_batches_that_keep_ending_do_not_stop_an_executor_from_taking_more() -> None:
    play, looked_at = played(slow=(10, 0), **{f"step{n}": (10, 0) for n in range(1, 7)}), list[int]()

    class Noting(MemoryInbox):
        def receive(self, limit: int, seconds: int) -> list[Delivery]:
            looked_at.append(play.clock.now() - NOW)
            return super().receive(limit, seconds)

    deliveries, inbox = play.queue.receive("normal"), Noting(play.queue, "normal")
    assert play.clock.run(execute(play.context(), inbox, play.caller, deliveries, "one", inline)) == []
    assert {*range(LOOK_EVERY_MS, 5 * SECOND_MS, LOOK_EVERY_MS)} <= {*looked_at}


def test_a_message_without_capacity_comes_again_as_a_new_one_and_uses_up_no_delivery() -> None:
    play = played(slow=(CAPACITY, 0))
    executed(play, NOW + 900 * SECOND_MS)
    assert len(called(play, "slow")) == CAPACITY
    assert max(called(play, "slow")) < HANGS_MS + 5 * SECOND_MS
    assert (play.queue.dead, play.messages()) == ([], [])


def test_a_second_message_of_a_run_under_way_in_the_executor_does_not_call_it_again() -> None:
    play = played(slow=(10, 0))
    play.queue.send(play.queue.sent[:3], NOW)
    executed(play)
    assert sorted(Counter(call.run for _, call in play.caller.calls).values()) == [1] * 10


def test_an_executor_that_cannot_poll_its_queue_goes_on_with_its_messages() -> None:
    play = played(slow=(10, 0), quick=(25, 0))
    play.queue.receive("normal")

    class Mute(NotingInbox):
        def receive(self, limit: int, seconds: int) -> list[Delivery]:
            raise UnavailableError(f"{limit} messages for {seconds} s: no answer")

    deliveries = [Delivery(run.id, f"another-{n}") for n, run in enumerate(play.queue.sent[:10])]
    work = execute(play.context(), Mute(play.queue, "normal"), play.caller, deliveries, "one", inline)
    assert play.clock.run(work) == []
    assert len(called(play, "slow")) == 10


def test_messages_that_are_done_when_their_executor_returns_are_left_to_the_platform() -> None:
    play = played(quick=(10, 0))
    deliveries, inbox = play.queue.receive("normal"), play.queue.inbox("normal")
    assert play.clock.run(execute(play.context(), inbox, play.caller, deliveries, "one", inline)) == []
    assert len(play.messages()) == 10


def test_an_executor_that_goes_on_with_further_messages_deletes_those_of_its_first_batch() -> None:
    play, left = played(step2=(10, 0), slow=(1, 0)), list[str]()
    deliveries, inbox = play.queue.receive("normal"), play.queue.inbox("normal")

    async def looks() -> None:
        await play.clock.sleep_until(NOW + 2 * SECOND_MS)
        left.extend(run.job.tenant for run, _ in play.messages())

    async def both() -> None:
        await asyncio.gather(execute(play.context(), inbox, play.caller, deliveries, "one", inline), looks())

    play.clock.run(both())
    assert left == ["slow"]
