"""When an executor polls the queues of higher priority: only for messages that surely find capacity, and seldom."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.engine.hanging import HANGS_MS, Hangs, NotingInbox
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Term
from timeball.engine.execution.more_messages import ABOVE_EVERY_MS
from timeball.ports.queue import Delivery
from timeball.testing.at_work import inline
from timeball.testing.memory_queue import MemoryInbox, handed_out
from timeball.testing.virtual_clock import VirtualClock


@dataclass(frozen=True)
class _Tracing(MemoryInbox):
    """An inbox that notes when it was polled, and when messages were sent back."""

    clock: VirtualClock
    trace: list[tuple[int, str]] = field(default_factory=list)

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        self.trace.append((self.clock.now(), "asked"))
        return super().receive(limit, seconds)

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        self.trace.append((self.clock.now(), "sent back"))
        return super().send_again(deliveries, seconds)


def _played(priority: Priority, tenant: str, number: int) -> Play:
    play = Play()
    play.caller = Hangs(play.clock)
    jobs = [spec(f"{priority}-{n}", At(NOW)) for n in range(number)]
    play.store_jobs(replace(one, key=JobKey(tenant, one.key.job_id), priority=priority) for one in jobs)
    play.scan_all()
    return play


def _executed(play: Play, own: MemoryInbox, above: MemoryInbox) -> None:
    deliveries = play.queue.receive("normal")
    term = Term(NOW + 900 * SECOND_MS, above=[above])
    work = execute(play.context(), own, play.caller, deliveries, "one", inline, term)
    assert play.clock.run(handed_out(own, deliveries, work)) == []


def test_an_executor_leaves_high_messages_to_others_while_a_tenant_uses_its_whole_share_here() -> None:
    play = _played(Priority.NORMAL, "slow", 60)
    above = _Tracing(play.queue, "high", play.clock)
    _executed(play, play.queue.inbox("normal"), above)
    assert [at - NOW for at, _ in above.trace if at < NOW + HANGS_MS] == [500]  # it has ten calls by then, and 50 after


def test_an_executor_that_found_nothing_polls_the_higher_queues_at_most_every_two_seconds() -> None:
    play = _played(Priority.NORMAL, "slow", 1)
    above = NotingInbox(play.queue, "high")
    _executed(play, play.queue.inbox("normal"), above)
    assert len(above.asked) == HANGS_MS // ABOVE_EVERY_MS


def test_an_executor_does_not_poll_a_queue_just_after_it_sent_messages_back_to_it() -> None:
    play = _played(Priority.NORMAL, "slow", 100)
    own = _Tracing(play.queue, "normal", play.clock)
    _executed(play, own, play.queue.inbox("high"))
    sent_back = {at for at, what in own.trace if what == "sent back"}
    assert sent_back
    last = {at: [what for when, what in own.trace if when == at][-1] for at in sent_back}
    assert {*last.values()} == {"sent back"}
