"""Events and rules: a stopped or concurrent process leaves no job without its rule, and an event makes one run.

Each verb is played anew for each of its points: the process stops there, or another process does its work there.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tests.engine.play import Play, spec
from tests.patterns import matches
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.planning.ledger import subscription_of
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, OnEvents, Schedule
from timeball.engine.changes.change import cancel
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import examine
from timeball.engine.events.receive import publish, receive
from timeball.engine.events.subscribe import retire_unneeded, subscribe, unsubscribe
from timeball.engine.scheduling.submit import submit
from timeball.ports.event_bus import EventBus
from timeball.testing.faults import Crash, Points, with_faults
from timeball.testing.memory_services import MemoryBus

PATTERN = '{"source":["shop"]}'
EVENT = {"id": "7", "source": "shop", "type": "order.placed"}
_MOST_POINTS = 40


def on_events(name: str) -> JobKey:
    return JobKey("acme", name)


@dataclass
class World:
    """A play with a bus."""

    play: Play = field(default_factory=Play)
    bus: MemoryBus = field(default_factory=lambda: MemoryBus(matches))

    def at(self, points: Points | None = None) -> tuple[Context, EventBus]:
        """Return the world of a process that reaches these points."""
        bus: EventBus = self.bus
        return self.play.context(points), bus if points is None else with_faults(bus, points)

    def create(self, name: str = "job", points: Points | None = None) -> None:
        """Create a job on events as the API does."""
        context, bus = self.at(points)
        wanted = replace(spec(name, OnEvents()), event=PATTERN)
        now = self.play.clock.now()
        assert subscribe(context, bus, [wanted], now) == {}
        submit(context, [wanted], now)

    def give_up(self, name: str = "refused", points: Points | None = None) -> None:
        """Do what the API does for a job whose pattern was registered and which is refused after that."""
        context, bus = self.at(points)
        wanted = replace(spec(name, OnEvents()), event=PATTERN)
        now = self.play.clock.now()
        assert subscribe(context, bus, [wanted], now) == {}
        unsubscribe(context, bus, [wanted], now)

    def crowd(self, source: str) -> None:
        """Ask for another pattern of the tenant, for a job that is never written."""
        context, bus = self.at()
        wanted = replace(spec("crowding", OnEvents()), event=f'{{"source":["{source}"]}}')
        assert subscribe(context, bus, [wanted], self.play.clock.now()) == {}

    def counts_its_rules(self) -> bool:
        """Say whether the tenant's row names the pattern of each rule."""
        (row,) = self.play.store.patterns.read(["acme"])
        named = {one.digest for one in row.noted} if row is not None else set()
        return {rule.key.digest for rule in self.bus.rules()} <= named

    def cancel(self, name: str = "job", points: Points | None = None) -> None:
        """Cancel the job as the API does."""
        context, bus = self.at(points)
        cancel(context, [(on_events(name), None)])
        key = subscription_of(replace(spec(name, OnEvents()), event=PATTERN))
        assert key is not None
        retire_unneeded(context, bus, [key])

    def publish(self, points: Points | None = None) -> None:
        """Send the event."""
        context, bus = self.at(points)
        publish(context, bus, "acme", [EVENT])

    def receive(self, points: Points | None = None) -> None:
        """Process the matched events; a message is deleted only when that is done."""
        context, bus = self.at(points)
        messages = list(self.bus.queue)
        assert all(receive(context, bus, messages))
        self.bus.queue = self.bus.queue[len(messages) :]

    def record_answer(self, name: str = "job") -> bool:
        """Say whether an event makes a run of a job."""
        self.publish()
        self.receive()
        return len(self.play.runs(on_events(name))) == 1


def stopped(make: Callable[[], World], verb: Callable[[World, Points], None]) -> list[World]:
    """Return the world after each stop of a verb."""
    left = []
    for at in range(_MOST_POINTS):
        world, points = make(), Points(at)
        try:
            verb(world, points)
        except Crash:
            left.append(world)
        else:
            assert len(left) == points.reached
            return left
    raise AssertionError("a verb has more points than expected")


def after_the_first_minute(*names: str) -> World:
    """Return a world with jobs whose notes are more than a minute old."""
    world = World()
    for name in names:
        world.create(name)
    world.play.clock.advance(2 * MINUTE_MS)
    return world


def test_a_create_stopped_anywhere_leaves_a_job_with_its_rule_or_none_and_may_be_repeated() -> None:
    for world in stopped(World, lambda world, points: world.create(points=points)):
        (job,) = world.play.store.jobs.read([on_events("job")])
        assert job is None or world.record_answer()
        world.play.clock.advance(1)
        if job is None:
            world.create()
            assert world.record_answer()


def test_a_refused_create_leaves_no_rule_and_one_stopped_anywhere_a_rule_that_counts() -> None:
    world = World()
    world.give_up()
    assert world.bus.rules() == []
    for left in stopped(World, lambda world, points: world.give_up(points=points)):
        assert left.counts_its_rules()
        left.create("next")
        assert left.record_answer("next")


@pytest.mark.parametrize("name", ["next", "refused"])
def test_a_create_between_any_two_writes_of_a_refused_one_makes_a_job_with_its_rule(name: str) -> None:
    for at in range(_MOST_POINTS):
        world = World()
        points = Points(at, lambda world=world: world.create(name))  # type: ignore[misc]
        world.give_up(points=points)
        if points.reached <= at:
            return
        assert world.counts_its_rules(), at
        assert world.record_answer(name), at
    raise AssertionError("a verb has more points than expected")


@pytest.mark.parametrize("name", ["next", "refused"])
def test_a_refused_create_between_any_two_writes_of_a_create_takes_no_rule_from_it(name: str) -> None:
    for at in range(_MOST_POINTS):
        world = World()
        points = Points(at, world.give_up)
        world.create(name, points=points)
        if points.reached <= at:
            return
        assert world.counts_its_rules(), at
        assert world.record_answer(name), at
    raise AssertionError("a verb has more points than expected")


def test_room_that_is_made_between_any_two_writes_of_a_create_keeps_its_rule_counted() -> None:
    for at in range(_MOST_POINTS):
        world = World()
        world.play.store.freezes.insert([Freezes("acme", quotas=Quotas(event_patterns=2))], world.play.clock.now())
        world.create()
        world.crowd("first")
        world.play.clock.advance(2 * MINUTE_MS)
        world.cancel()
        points = Points(at, lambda world=world: world.crowd("second"))  # type: ignore[misc]
        world.create("next", points=points)
        if points.reached <= at:
            return
        assert world.counts_its_rules(), at
        assert world.record_answer("next"), at
    raise AssertionError("a verb has more points than expected")


def test_a_removal_stopped_anywhere_leaves_its_pattern_to_the_next_job() -> None:
    for world in stopped(lambda: after_the_first_minute("job"), lambda world, points: world.cancel(points=points)):
        world.create("next")
        assert world.record_answer("next")


@pytest.mark.parametrize("is_young", [True, False])
def test_a_create_between_any_two_writes_of_a_removal_makes_a_job_with_its_rule(*, is_young: bool) -> None:
    for at in range(_MOST_POINTS):
        world = World() if is_young else after_the_first_minute("job")
        if is_young:
            world.create()
        points = Points(at, lambda world=world: world.create("next"))  # type: ignore[misc]
        world.cancel(points=points)
        if points.reached <= at:
            return
        assert world.record_answer("next"), at
    raise AssertionError("a verb has more points than expected")


def test_a_removal_between_any_two_writes_of_a_create_leaves_a_job_with_its_rule() -> None:
    for at in range(_MOST_POINTS):
        world = after_the_first_minute("job")
        points = Points(at, lambda world=world: world.cancel())  # type: ignore[misc]
        world.create("next", points=points)
        if points.reached <= at:
            return
        assert world.record_answer("next"), at
    raise AssertionError("a verb has more points than expected")


def test_an_event_whose_sender_was_stopped_anywhere_and_sent_it_again_makes_one_run() -> None:
    for world in stopped(lambda: after_the_first_minute("job"), lambda world, points: world.publish(points=points)):
        world.receive()
        world.play.clock.advance(MINUTE_MS)
        assert world.record_answer()


def test_a_matched_event_makes_one_run_with_one_call_wherever_a_process_was_stopped() -> None:
    def published() -> World:
        world = after_the_first_minute("job", "other")
        world.publish()
        return world

    for world in stopped(published, lambda world, points: world.receive(points=points)):
        world.receive()
        for name in ("job", "other"):
            world.play.run_on(on_events(name), 2 * MINUTE_MS)
            (run,) = world.play.runs(on_events(name))
            assert run.state is RunState.SUCCEEDED
        assert len(world.play.caller.calls) == 2


def test_an_event_of_a_job_with_a_child_begins_one_cycle_wherever_a_process_was_stopped() -> None:
    def published() -> World:
        world = World()
        world.create()
        context, _ = world.at()
        child = replace(spec("child", At(0)), depends_on=(Parent("job"),), inherits=True)
        (examined,) = examine(context, [child])
        submit(context, [examined.spec], world.play.clock.now(), ancestors={child.key: 1})
        world.publish()
        return world

    for world in stopped(published, lambda world, points: world.receive(points=points)):
        world.receive()
        for name in ("job", "child"):
            world.play.run_on(on_events(name), 2 * MINUTE_MS)
            (run,) = world.play.runs(on_events(name))
            assert (run.state, run.root) == (RunState.SUCCEEDED, "job")
        assert [call.run.job.job_id for _, call in world.play.caller.calls] == ["job", "child"]


def with_a_schedule() -> World:
    """Return a world in which an event waits for the fire of a job, a moment before the fire."""
    world = World()
    first = world.play.clock.now() + 10 * SECOND_MS
    context, bus = world.at()
    wanted = replace(spec("job", Schedule(Every(10, first), end_at=first)), event=PATTERN)
    assert subscribe(context, bus, [wanted], world.play.clock.now()) == {}
    submit(context, [wanted], world.play.clock.now())
    world.publish()
    return world


def test_an_event_that_waits_for_a_fire_is_used_once_wherever_a_process_was_stopped() -> None:
    for world in stopped(with_a_schedule, lambda world, points: world.receive(points=points)):
        world.receive()
        assert _events_of_its_calls(world) == ["7"]


def test_a_fire_that_needs_an_event_runs_with_it_wherever_its_executor_was_stopped() -> None:
    def sent() -> World:
        world = with_a_schedule()
        world.receive()
        world.play.clock.advance(7 * SECOND_MS)
        world.play.scan_all()
        world.play.clock.advance(5 * SECOND_MS)
        return world

    def execute(world: World, points: Points) -> None:
        world.play.points = points
        try:
            world.play.execute_next()
        finally:
            world.play.points = None

    for world in stopped(sent, execute):
        assert {*_events_of_its_calls(world)} == {"7"}
        (row,) = world.play.store.waiting_events.of_owner(on_events("job"))
        (run,) = world.play.runs(on_events("job"))
        assert (row.used_by, run.state) == (run.id, RunState.SUCCEEDED)


def _events_of_its_calls(world: World) -> list[str]:
    """Let the job run to its end; return the id of the event in each call."""
    world.play.run_on(on_events("job"), to_its_end=True)
    payloads = [json.loads(call.work.payload or "null") for _, call in world.play.caller.calls]
    return [payload["event"]["id"] for payload in payloads]
