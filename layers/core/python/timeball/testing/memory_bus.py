"""A bus in memory. It does not match patterns itself: a test brings a library that knows EventBridge's patterns."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from timeball.domain.model.terms.event import (
    BUS_SOURCE,
    MOST_BYTES,
    BusRule,
    Event,
    Matched,
    Subscription,
    bus_pattern,
    from_the_bus,
    on_the_bus,
)
from timeball.ports.event_bus import EventRefusal, PatternRefusedError, RulesUsedUpError

Matches = Callable[[str, Mapping[str, Any]], bool]
"""Returns whether a pattern matches an event on the bus. Raises ValueError for text that is no pattern."""

MAX_RULES = 300


class MemoryBus:
    """One bus with its rules, at most `max_rules`, and the messages in the queue that they lead to."""

    def __init__(self, matches: Matches, max_rules: int = MAX_RULES) -> None:
        self._matches, self.max_rules = matches, max_rules
        self._lock = threading.RLock()
        self._patterns: dict[BusRule, str] = {}
        self.queue: list[Matched] = []
        self.delays: list[int] = []

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that outlives its process."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def put(self, events: Sequence[Event]) -> list[EventRefusal | None]:
        """Put events onto the bus."""
        return [self._put(event) for event in events]

    def _put(self, event: Event) -> EventRefusal | None:
        if event.size > MOST_BYTES:
            return EventRefusal("The event is too large.")
        envelope = {"source": BUS_SOURCE, "detail-type": event.tenant, "detail": json.loads(on_the_bus(event))}
        with self._lock:
            matching = [rule for rule, pattern in self._patterns.items() if self._matches(pattern, envelope)]
            for rule in matching:
                self.queue.append(Matched(rule, from_the_bus(rule.key.tenant, envelope["detail"])))
        return None

    def put_off(self, matched: Sequence[tuple[Matched, int]]) -> list[bool]:
        """Put matches into the queue again. The seconds are recorded in `delays`, and not waited for."""
        with self._lock:
            self.queue += [one for one, _ in matched]
            self.delays += [seconds for _, seconds in matched]
        return [True] * len(matched)

    def ensure(self, subscription: Subscription) -> None:
        """Add a rule to the bus."""
        pattern = bus_pattern(subscription)
        try:
            self._matches(pattern, {})
        except ValueError as error:
            raise PatternRefusedError(str(error)) from None
        with self._lock:
            if subscription.rule not in self._patterns and len(self._patterns) >= self.max_rules:
                raise RulesUsedUpError
            self._patterns[subscription.rule] = pattern

    def remove(self, rules: Sequence[BusRule]) -> None:
        """Remove rules."""
        with self._lock:
            for rule in rules:
                self._patterns.pop(rule, None)

    def rules(self) -> list[BusRule]:
        """Return all rules."""
        with self._lock:
            return list(self._patterns)
