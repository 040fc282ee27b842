"""Jobs with a pattern and a schedule: which fires run, with which event, and which are skipped for lack of one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.engine.play import NOW, Play
from tests.engine.service import KEY, Service, at, ledger, locked
from tests.patterns import matches
from timeball.domain.backfill import new_backfill
from timeball.domain.model.ids import BackfillKey, Origin
from timeball.domain.model.jobs.job import JobSpec, with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.backfills import create_backfills
from timeball.engine.changes.change import pause, renew, resume, revise, skip_next
from timeball.engine.changes.skip import Skipping
from timeball.engine.events.receive import publish, receive
from timeball.engine.events.subscribe import subscribe
from timeball.engine.runs.manual import Edit, retry_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.testing.memory_services import MemoryBus

PATTERN, OTHER = '{"source":["shop"]}', '{"source":["bank"]}'
RAN, SKIPPED = ("succeeded", None), ("skipped", "no_event")


@dataclass
class Shop:
    """A job that fires each ten seconds, and the events that are sent to it."""

    service: Service
    bus: MemoryBus = field(default_factory=lambda: MemoryBus(matches))

    @property
    def play(self) -> Play:
        return self.service.play

    def begin(self, overlap: OverlapPolicy = OverlapPolicy.ALLOW, end: float = 45, **fields: Any) -> None:
        wanted = replace(locked(overlap, Schedule(Every(10, NOW), end_at=at(end))), event=PATTERN, **fields)
        self.subscribe(wanted)
        self.play.store_jobs([wanted])

    def subscribe(self, wanted: JobSpec) -> None:
        assert subscribe(self.play.context(), self.bus, [wanted], self.play.clock.now()) == {}

    def publish(self, name: str, seconds: float, source: str = "shop") -> None:
        """Send an event at an instant; it stays on the bus."""
        self.service.until(at(seconds))
        publish(self.play.context(), self.bus, "acme", [{"id": name, "source": source, "type": "placed"}])

    def deliver(self) -> None:
        messages, self.bus.queue = self.bus.queue, []
        assert all(receive(self.play.context(), self.bus, messages))

    def send(self, name: str, seconds: float, source: str = "shop") -> None:
        self.publish(name, seconds, source)
        self.deliver()

    def payloads(self) -> Iterator[tuple[float, Any]]:
        """Yield the fire time and the payload of each call, in seconds from NOW."""
        for _, call in self.service.target.calls:
            yield (call.run.fire_at - NOW) / SECOND_MS, json.loads(call.work.payload or "null")

    def events(self) -> list[tuple[float, str | None]]:
        """Return the fire time of each call, and the id of its event."""
        return [(fire, payload.get("event", {}).get("id")) for fire, payload in self.payloads()]


@pytest.fixture
def shop(service: Service) -> Shop:
    return Shop(service)


def test_a_fire_runs_with_the_newest_event_since_the_fire_before_and_is_skipped_without_one(shop: Shop) -> None:
    shop.begin()
    shop.send("a", 11)
    shop.send("b", 12)
    shop.send("c", 25)
    shop.service.until(at(60))
    assert ledger(shop.play) == {0: SKIPPED, 10: SKIPPED, 20: RAN, 30: RAN, 40: SKIPPED}
    event = {"id": "b", "source": "shop", "type": "placed"}
    assert dict(shop.payloads()) == {20: {"n": 1, "event": event}, 30: {"n": 1, "event": {**event, "id": "c"}}}


def test_a_fire_starts_two_seconds_later_and_counts_as_on_time(shop: Shop) -> None:
    shop.begin()
    shop.send("a", 1)
    shop.service.until(at(14))
    (called_at,) = (called_at for called_at, _ in shop.service.target.calls)
    (run,) = (run for run in shop.play.runs(KEY) if run.state is RunState.SUCCEEDED)
    assert (called_at, run.lateness_ms) == (at(12), 0)


def test_an_event_of_the_instant_of_a_fire_counts_for_the_next_one(shop: Shop) -> None:
    shop.begin()
    shop.send("a", 10)
    shop.service.until(at(60))
    assert shop.events() == [(20, "a")]


def test_an_event_from_just_before_a_fire_counts_although_the_bus_delivers_it_after(shop: Shop) -> None:
    shop.begin()
    shop.publish("a", 9.9)
    shop.service.until(at(11.2))
    shop.deliver()
    shop.service.until(at(60))
    assert shop.events() == [(10, "a")]


def test_a_late_event_counts_for_the_next_fire_unless_a_fire_has_used_a_newer_one(shop: Shop) -> None:
    shop.begin()
    shop.publish("late", 5)
    shop.service.until(at(15))
    assert ledger(shop.play) == {0: SKIPPED, 10: SKIPPED}
    shop.deliver()
    shop.publish("older", 23)
    late, shop.bus.queue = shop.bus.queue, []
    shop.send("newer", 24)
    shop.service.until(at(35))
    shop.bus.queue = late
    shop.deliver()
    shop.service.until(at(60))
    assert shop.events() == [(20, "late"), (30, "newer")]


def test_a_repeated_event_counts_once(shop: Shop) -> None:
    shop.begin()
    shop.send("a", 5)
    shop.send("a", 15)
    shop.service.until(at(60))
    assert shop.events() == [(10, "a")]


def test_each_missed_fire_that_is_caught_up_has_the_event_before_it(shop: Shop) -> None:
    shop.begin(catch_up=CatchUp(CatchUpPolicy.ALL, 10, 3_600))
    shop.service.engine.is_scanning = False
    for name, seconds in (("a", 5), ("b", 25), ("c", 26)):
        shop.send(name, seconds)
    shop.service.until(at(300))
    shop.service.engine.is_scanning = True
    shop.service.until(at(400))
    assert shop.events() == [(10, "a"), (30, "c")]
    assert ledger(shop.play) == {0: SKIPPED, 10: RAN, 20: SKIPPED, 30: RAN, 40: SKIPPED}


def test_a_retry_and_a_manual_retry_have_the_same_event(shop: Shop) -> None:
    shop.begin()
    shop.service.target.statuses = [500, 500, 500, 500]
    shop.send("a", 5)
    shop.send("b", 61)
    shop.service.until(at(200))
    (dead,) = (run for run in shop.play.runs(KEY) if run.state is RunState.FAILED)
    retry_runs(shop.play.context(), [dead.id])
    shop.service.until(at(300))
    assert shop.events() == [(10, "a")] * 5


def test_a_retry_with_another_payload_has_the_event_besides(shop: Shop) -> None:
    shop.begin()
    shop.service.target.statuses = [400]
    shop.send("a", 5)
    shop.service.until(at(60))
    (dead,) = (run for run in shop.play.runs(KEY) if run.state is RunState.FAILED)
    retry_runs(shop.play.context(), [dead.id], Edit('{"n": 2}'))
    shop.service.until(at(90))
    assert list(shop.payloads())[-1] == (10, {"n": 2, "event": {"id": "a", "source": "shop", "type": "placed"}})


def test_a_killed_executor_loses_no_event(shop: Shop) -> None:
    shop.begin()
    shop.service.target.takes = lambda call: 60_000 if call.attempt == 1 else 0
    shop.send("a", 5)
    shop.service.until(at(20))
    shop.service.kill_executors()
    shop.service.until(at(200))
    assert shop.events() == [(10, "a"), (10, "a")]
    assert ledger(shop.play)[10] == RAN


def test_a_fire_without_an_event_disturbs_no_earlier_run(shop: Shop) -> None:
    shop.begin(OverlapPolicy.CANCEL_OTHER)
    shop.service.target.takes = lambda _: 35_000
    shop.send("a", 5)
    shop.service.until(at(100))
    assert ledger(shop.play) == {0: SKIPPED, 10: RAN, 20: SKIPPED, 30: SKIPPED, 40: SKIPPED}


def test_an_event_whose_fire_was_skipped_for_an_earlier_run_counts_for_the_next_one(shop: Shop) -> None:
    shop.begin(OverlapPolicy.SKIP)
    shop.service.target.takes = lambda _: 15_000
    shop.send("a", 5)
    shop.send("b", 15)
    shop.service.until(at(100))
    assert ledger(shop.play) == {0: SKIPPED, 10: RAN, 20: ("skipped", "overlap"), 30: RAN, 40: SKIPPED}
    assert shop.events() == [(10, "a"), (30, "b")]


def test_an_event_of_a_pause_counts_for_the_fire_after_it(shop: Shop) -> None:
    shop.begin(catch_up=CatchUp(CatchUpPolicy.SKIP))
    shop.service.until(at(6))
    pause(shop.play.context(), [(KEY, None)])
    shop.send("a", 15)
    shop.service.until(at(25))
    resume(shop.play.context(), [(KEY, None)])
    shop.service.until(at(60))
    assert shop.events() == [(30, "a")]


def test_an_event_before_a_fire_that_a_user_skips_counts_for_the_next_one(shop: Shop) -> None:
    shop.begin()
    shop.send("a", 3)
    skip_next(shop.play.context(), [Skipping(KEY)])
    shop.service.until(at(60))
    assert shop.events() == [(20, "a")]


def test_a_trigger_and_a_backfill_run_without_an_event_and_use_none(shop: Shop) -> None:
    shop.begin()
    shop.send("a", 3)
    trigger(shop.play.context(), [Trigger(KEY, fingerprint="x")])
    job = shop.play.job(KEY)
    backfill = new_backfill(BackfillKey(KEY, "bf"), job, [NOW - DAY_MS], 0, OverlapPolicy.ALLOW, at(3))
    create_backfills(shop.play.context(), [backfill])
    shop.service.until(at(60))
    without = [run for run in shop.play.runs(KEY) if run.id.origin is not Origin.SCHEDULE]
    assert [run.state for run in without] == [RunState.SUCCEEDED] * 2
    assert max(shop.events(), key=lambda one: one[0]) == (10, "a")
    assert [payload for _, payload in shop.payloads() if "event" not in payload] == [{"n": 1}] * 2


def test_an_event_of_an_earlier_pattern_or_generation_counts_for_no_fire(shop: Shop) -> None:
    shop.begin()
    shop.send("old", 3)
    job = with_spec(shop.play.job(KEY), work=locked(OverlapPolicy.ALLOW, Every(10, NOW)).work)
    other = replace(job.spec, event=OTHER)
    shop.subscribe(other)
    revise(shop.play.context(), [(job, other)])
    shop.send("new", 15, "bank")
    shop.send("unused", 40.5, "bank")
    shop.service.until(at(60))
    assert shop.events() == [(20, "new")]
    ended = with_spec(shop.play.job(KEY), work=job.spec.work)
    again = replace(other, schedule=Schedule(Every(10, NOW), end_at=at(90)))
    renew(shop.play.context(), [(ended, again)], shop.play.clock.now())
    shop.service.until(at(120))
    assert shop.events() == [(20, "new")]
