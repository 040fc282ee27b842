"""The bus of a story: it delivers repeatedly and out of order, and records events and when they were processed.

In some stories it also loses events, duplicates them, and does not answer whether it accepted one.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.patterns import matches
from timeball.domain.model.terms.event import Event, Matched, name_of_event
from timeball.ports.event_bus import EventRefusal
from timeball.testing.memory_services import MemoryBus
from timeball.testing.virtual_clock import VirtualClock

_AT_ONCE = 10

_UNKNOWN = EventRefusal("nobody knows", is_unknown=True)


@dataclass(frozen=True)
class Put:
    """An event that came onto the bus at a true time (ms)."""

    at: int
    event: Event

    @property
    def name(self) -> tuple[str, str]:
        """The identity of the event: its tenant, and the name made of its source and id."""
        return self.event.tenant, name_of_event(self.event.attributes)


class KeptBus(MemoryBus):
    """A bus with a past: all events that were `put` onto it, and by each event's name when its last message went.

    With `mishaps` it fails some events; `lost` are events that came onto the bus but reached no queue.
    """

    def __init__(self, clock: VirtualClock, random: Random, mishaps: Random | None = None) -> None:
        super().__init__(matches)
        self.puts: list[Put] = []
        self.lost: list[Put] = []
        self.mishaps = mishaps
        self.done_at: dict[tuple[str, str], int] = defaultdict(int)
        self._clock, self._random = clock, random

    def put(self, events: Sequence[Event]) -> list[EventRefusal | None]:
        """Put events onto the bus, and record when each came."""
        if self.mishaps is not None:
            return [self._put_or_fail(event, self.mishaps.random()) for event in events]
        self.puts += [Put(self._clock.now(), event) for event in events]
        return super().put(events)

    def _put_or_fail(self, event: Event, fate: float) -> EventRefusal | None:
        """Put an event onto the bus by its fate: not at all, without an answer, twice, or to no queue."""
        if fate < 0.1:
            return _UNKNOWN
        one = Put(self._clock.now(), event)
        self.puts.append(one)
        if fate < 0.15:
            self.lost.append(one)
            return None
        refused = super().put([event])[0]
        if fate < 0.3:
            super().put([event])
        return _UNKNOWN if fate > 0.9 else refused

    def receive(self) -> list[Matched]:
        """Deliver some messages, in any order. They stay, so that another process may have them too."""
        waiting = self._random.sample(self.queue, min(len(self.queue), _AT_ONCE))
        return waiting[: self._random.randrange(1, _AT_ONCE + 1)]

    def delete(self, message: Matched) -> None:
        """Mostly delete a message; otherwise it comes again."""
        if message in self.queue and self._random.random() < 0.9:
            self.queue.remove(message)
            self.done_at[Put(0, message.event).name] = self._clock.now()
