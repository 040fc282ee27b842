"""Jobs that run on events: clients that send events, again if an answer is lost, and functions that make runs of them.

The patterns of jobs are drawn from their own stream, so that stories without events stay as they are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from tests.simulation.world.process import CutOffError, simulated
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.event import Event
from timeball.domain.time.schedule import At, OnEvents, Schedule
from timeball.engine.context import Context
from timeball.engine.events.receive import publish, receive
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventBus

PATTERNS = (
    '{"source":["shop"]}',
    '{"detail-type":["a"],"source":["bank"]}',
    '{"source":[{"anything-but":"shop"}]}',
    '{"detail":{"n":[{"numeric":[">",0]}]}}',
    '{"detail-type":[{"exists":true}]}',
)
TENANTS = ("user-1", "user-2", "user-3")
"""Two tenants have jobs, and one has none that could listen."""

_LISTENS = 0.8
_ALONE = 0.5
_AGAIN = 0.4


def listening(story: Story, spec: JobSpec) -> JobSpec:
    """Return a job as a user wants it: in some stories it runs on events, mostly beside its schedule or without one."""
    draw = story.event_draw
    if not story.has_events or draw.random() > _LISTENS:
        return spec
    spec = replace(spec, event=draw.choice(PATTERNS))
    if isinstance(spec.schedule.timing, At) or draw.random() < _ALONE:
        spec = replace(spec, schedule=Schedule(OnEvents()), jitter_seconds=0, calendar=None)
    return spec


def bus_of(client: Client) -> EventBus:
    """Return the bus as a client's process sees it."""
    return simulated(client.story.bus, client.process)


async def send_events(story: Story) -> None:
    """Send events during the storm, and many of them again: at once, or much later, whatever the answer was."""
    client, draw = Client(story, story.new_process("user-sender")), story.event_draw
    sent: list[tuple[str, dict[str, Any], int]] = []
    while story.clock.now() < story.storm_ends_at:
        if not sent or draw.random() > _AGAIN:
            number = next(story.names)
            one = {"id": f"{number}", "source": draw.choice(("shop", "bank")), "type": draw.choice("ab")}
            sent.append((draw.choice(TENANTS), {**one, "data": {"n": number}}, draw.randrange(5)))
        tenant, event, depth = draw.choice((sent[-1], draw.choice(sent)))
        await client.ask("publish", JobKey(tenant, "none"), _send, bus_of(client), tenant, [event], depth)
        await client.process.sleep_until(client.process.now() + draw.randrange(100, 6_000))


def _send(context: Context, bus: EventBus, tenant: str, events: Sequence[dict[str, Any]], depth: int) -> list[Event]:
    published = publish(context, bus, tenant, events, depth)
    if any(refused is not None and refused.is_unknown for _, refused in published):
        raise UnavailableError("nobody knows whether the bus has it")
    return [event for event, _ in published]


async def receive_events(story: Story, number: int) -> None:
    """Make runs of the events that the bus has matched. Messages stay until then, and another process may have them."""
    process, draw = story.new_process(f"events-{number}"), story.event_draw
    context, bus = story.context(process), simulated(story.bus, process)
    while True:
        await process.sleep_until(process.now() + draw.randrange(50, 2_000))
        messages = story.bus.receive()
        if not messages:
            continue
        calls = draw.randrange(1, 15) if process.fails(process.weather.cut_off) else 10**6
        try:
            may_go = await process.run_cut_off(calls, receive, context, bus, messages)
        except (UnavailableError, CutOffError):
            continue
        for message, gone in zip(messages, may_go, strict=True):
            if gone:
                story.bus.delete(message)
