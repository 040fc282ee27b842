"""A standard queue of each priority, and the mapping that hands its messages to executors.

A sent message becomes visible after its delay, a received message when its visibility timeout ends. The batches of a
mapping grow as AWS documents; AWS does not document how fast they shrink, so here they shrink as fast.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from bench.scale.limits import (
    BATCHES_OF_A_POLLER,
    MAPPING_HEEDS_MS,
    MESSAGES_OF_A_REQUEST,
    POLLERS_BEGIN_WITH,
    POLLERS_GAIN_A_SECOND,
    POLLS_OF_A_POLLER,
    PROVISIONED_GAIN_A_SECOND,
)
from bench.scale.trace import Trace
from bench.scale.units import Tokens
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.queue import Delivery, Depth, Lead, Watch, by_message, in_messages
from timeball.testing.virtual_clock import VirtualClock


@dataclass(eq=False)
class _Message:
    runs: tuple[RunId, ...]
    not_before: int
    visible_at: int = 0
    receipt: str = ""
    is_gone: bool = False


class Line:
    """The queue of one priority, including the executor's side of it."""

    def __init__(self, clock: VirtualClock, trace: Trace) -> None:
        self._clock, self._trace, self._order = clock, trace, count()
        self._hidden: list[tuple[int, int, _Message]] = []
        self._visible: deque[_Message] = deque()
        self._received: dict[str, _Message] = {}

    def put(self, runs: Sequence[RunId], not_before: int, visible_at: int) -> None:
        """Add a message."""
        self._hide(_Message(tuple(runs), not_before), visible_at)

    def visible(self) -> int:
        """Return how many messages can be received now."""
        now = self._clock.now()
        while self._hidden and self._hidden[0][0] <= now:
            at, _, message = heappop(self._hidden)
            if at == message.visible_at and not message.is_gone:
                self._visible.append(message)
        return len(self._visible)

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        """Receive up to `limit` messages."""
        deliveries: list[Delivery] = []
        for _ in range(min(limit, self.visible())):
            message = self._visible.popleft()
            self._received.pop(message.receipt, None)
            message.receipt = f"receipt-{next(self._order)}"
            self._trace.note("received", message.runs, self._clock.now())
            self._trace.note("begun", message.runs, self._clock.now())
            self._received[message.receipt] = message
            self._hide(message, self._clock.now() + seconds * SECOND_MS)
            deliveries += [
                Delivery(run, message.receipt, message.not_before, together=len(message.runs)) for run in message.runs
            ]
        return deliveries

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Hide messages for so many seconds from now."""
        for one in deliveries:
            if (message := self._received.get(one.receipt)) is not None:
                self._hide(message, self._clock.now() + seconds * SECOND_MS)

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        """Send new messages, one for each receipt."""
        for ones in by_message(deliveries):
            self.put([one.run for one in ones], ones[0].not_before or 0, self._clock.now() + seconds * SECOND_MS)
        return [True] * len(deliveries)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove messages."""
        for one in deliveries:
            message = self._received.pop(one.receipt, None)
            if message is not None:
                message.is_gone = True

    def _hide(self, message: _Message, until: int) -> None:
        message.visible_at = until
        heappush(self._hidden, (until, next(self._order), message))


class Lines:
    """The sender's side of all queues. `watches` counts watch messages, which are not read: nothing is lost here."""

    def __init__(self, clock: VirtualClock, trace: Trace, lead: Lead, runs_per_message: int) -> None:
        self._clock, self._trace, self._lead, self._runs_per_message = clock, trace, lead, runs_per_message
        self.of: defaultdict[str, Line] = defaultdict(lambda: Line(clock, trace))
        self.sent = 0
        self.watches = 0

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:  # noqa: ARG002 - a delay counts from the moment of sending
        """Send messages of several runs each, delayed by whole seconds."""
        sent_at, lead_ms = self._clock.now(), self._lead.of(len(runs))
        for positions in in_messages(runs, self._runs_per_message):
            first = runs[positions[0]]
            seconds = max(0, (first.not_before - lead_ms - sent_at) // SECOND_MS)
            named = [runs[position].id for position in positions]
            self.of[first.priority].put(named, first.not_before, sent_at + seconds * SECOND_MS)
            self._trace.note("sent", named, sent_at)
        self.sent += len(runs)
        return [True] * len(runs)

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Count watch messages."""
        self.watches += len(watches)
        return [True] * len(watches)

    def depth(self, priority: str) -> Depth:
        """Return how many messages wait."""
        return Depth(self.of[priority].visible(), 0, 0)


@dataclass
class Mapping:
    """The batches that a mapping has under way, and may have. With `pollers` (least, most) it is provisioned.

    `part` is the simulated share of a stack, and of what AWS gives one mapping.
    """

    most: int
    part: float
    pollers: tuple[int, int] | None = None
    level: float = field(default=0.0, init=False)
    under_way: int = field(default=0, init=False)
    _at: int = field(default=0, init=False)
    _told: tuple[int, float] | None = field(default=None, init=False)
    _is_used: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        least, most = self.pollers or (0, 0)
        provisioned = self.pollers is not None
        self._least = (least * BATCHES_OF_A_POLLER if provisioned else POLLERS_BEGIN_WITH) * self.part
        self._most = (most * BATCHES_OF_A_POLLER if provisioned else self.most) * self.part
        self._gain = (PROVISIONED_GAIN_A_SECOND if provisioned else POLLERS_GAIN_A_SECOND) * self.part
        self._polls = Tokens(least * POLLS_OF_A_POLLER * self.part) if provisioned else None
        self.level = self._least

    def warm(self) -> None:
        """Raise it to its most batches, as after a while of the same load."""
        self.level = self._most

    def make_ready(self, pollers: int, now: int) -> None:
        """Keep so many pollers ready, as soon as AWS applies it."""
        self._told = now + MAPPING_HEEDS_MS, pollers * BATCHES_OF_A_POLLER * self.part

    def begins(self, waiting: int, now: int) -> int:
        """Return how many more batches may begin with so many waiting messages."""
        passed, self._at = now - self._at if self._at else 0, now
        is_short = waiting > 0 and self.under_way >= int(max(1.0, self.level))
        step = self._gain * passed / SECOND_MS
        if self._told is not None and now >= self._told[0]:
            (_, self._least), self._told = self._told, None
        if is_short:
            self.level = min(self._most, self.level + step)
        elif self.level < self._least:
            self.level = min(self._least, self.level + step)
        elif self._is_used and self.under_way < self.level:
            self.level = max(self._least, self.level - step)
        self._is_used |= waiting > 0
        free = int(max(1.0, self.level)) - self.under_way
        batches = min(free, -(-waiting // MESSAGES_OF_A_REQUEST))
        if self._polls is not None:
            self._polls.rate = max(self._polls.rate, self.level / BATCHES_OF_A_POLLER * POLLS_OF_A_POLLER)
            self._polls.most = self._polls.rate
            self._polls.has(0, now)
            batches = min(batches, int(self._polls.left))
            self._polls.take(max(0, batches))
        return max(0, batches)
