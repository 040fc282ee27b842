"""Put events onto the bus, each under its tenant's name, and at one instant however often it is sent.

① Note when the event is first accepted. ② Put it onto the bus at that instant. A repeat makes the same runs, so a
sender whose answer was lost sends the event again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from timeball.domain.model.terms.event import Event, name_of_event
from timeball.engine.context import Context
from timeball.ports.event_bus import EventBus, EventRefusal


def publish(
    context: Context, bus: EventBus, tenant: str, events: Sequence[Mapping[str, Any]], depth: int = 0
) -> list[tuple[Event, EventRefusal | None]]:
    """Accept a tenant's events, given as attributes, with a generation; return each, and why it was refused, if so.

    Raises UnavailableError before any event is put onto the bus.
    """
    now = context.clock.now()
    names = list(dict.fromkeys(map(name_of_event, events)))
    taken = dict(zip(names, context.store.requests.take_events(tenant, names, now), strict=True))
    wanted = [Event(tenant, one, taken[name_of_event(one)], depth) for one in events]
    return list(zip(wanted, bus.put(wanted), strict=True))
