"""The bus of a story: it delivers again and out of order, and keeps what came onto it and when it was dealt with."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.patterns import matches
from timeball.domain.model.terms.event import Event, name_of_event
from timeball.ports.event_bus import Refusal
from timeball.testing.memory_bus import MemoryBus, Message
from timeball.testing.virtual_clock import VirtualClock

_AT_ONCE = 10


@dataclass(frozen=True)
class Put:
    """An event that came onto the bus at a true time (ms)."""

    at: int
    event: Event

    @property
    def name(self) -> tuple[str, str]:
        """By what the event is known: its tenant, and what stands for its source and id."""
        return self.event.tenant, name_of_event(self.event.attributes)


class KeptBus(MemoryBus):
    """A bus with a past: all that was `put` onto it, and by each event's name when the last message of it went."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__(matches)
        self.puts: list[Put] = []
        self.done_at: dict[tuple[str, str], int] = defaultdict(int)
        self._clock, self._random = clock, random

    def put(self, events: Sequence[Event]) -> list[Refusal | None]:
        """Put events onto the bus, and keep when each came."""
        self.puts += [Put(self._clock.now(), event) for event in events]
        return super().put(events)

    def receive(self) -> list[Message]:
        """Deliver some messages, in any order; they stay, so that somebody else may have them too."""
        waiting = self._random.sample(self.queue, min(len(self.queue), _AT_ONCE))
        return waiting[: self._random.randrange(1, _AT_ONCE + 1)]

    def delete(self, message: Message) -> None:
        """Remove a message, mostly; else it comes again."""
        if message in self.queue and self._random.random() < 0.9:
            self.queue.remove(message)
            self.done_at[Put(0, message.event).name] = self._clock.now()
