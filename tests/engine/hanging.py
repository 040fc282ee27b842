"""Executors with hanging calls: which calls begin meanwhile, and how often the executors poll their queue."""

from dataclasses import dataclass, field, replace

from tests.engine.play import NOW, NotingCaller, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Term
from timeball.ports.executors import Successor
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer, Call
from timeball.testing.at_work import inline
from timeball.testing.memory_queue import MemoryInbox, handed_out

HANGS_MS = 200_000


class Hangs(NotingCaller):
    """Targets of `slow` hang, those of `step1`, `step2` ... take that many times 400 ms, the others a moment."""

    async def call(self, call: Call) -> Answer:
        tenant = call.run.job.tenant
        self.takes_ms = HANGS_MS if tenant == "slow" else int(tenant.partition("step")[2] or 0) * 400 or 10
        return await super().call(call)


@dataclass(frozen=True)
class NotingInbox(MemoryInbox):
    """An inbox that notes how many messages are asked for."""

    asked: list[int] = field(default_factory=list)

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        self.asked.append(limit)
        return super().receive(limit, seconds)


def played(**due: tuple[int, int]) -> Play:
    """Store runs of tenants, due some seconds after the start, and send them one tenant after the other."""
    play = Play()
    play.caller = Hangs(play.clock)
    for tenant, (number, seconds) in due.items():
        jobs = [spec(f"job-{n}", At(NOW + seconds * SECOND_MS)) for n in range(number)]
        play.store_jobs(replace(one, key=JobKey(tenant, one.key.job_id)) for one in jobs)
        play.scan_all()
    return play


def executed(
    play: Play, deadline_at: int | None = None, successor: Successor | None = None, stays_until: int = 0
) -> NotingInbox:
    """Let a single executor work."""
    inbox = NotingInbox(play.queue, "normal")
    term = Term(deadline_at, successor, stays_until)
    deliveries = [] if stays_until else play.queue.receive("normal")
    work = execute(play.context(), inbox, play.caller, deliveries, "one", inline, term)
    assert play.clock.run(handed_out(inbox, deliveries, work)) == []
    return inbox


def called(play: Play, tenant: str) -> list[int]:
    return [at - NOW for at, call in play.caller.calls if call.run.job.tenant == tenant]
