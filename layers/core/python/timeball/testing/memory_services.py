"""Services in memory: a bus, executions and secrets.

The bus does not match patterns itself: a test brings a library that knows EventBridge's patterns. An execution ends at
an instant that its test chooses, unless it is stopped before. Secrets can be unreadable.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventRefusal, PatternRefusedError, RulesUsedUpError
from timeball.ports.secrets import SecretUnreadableError
from timeball.ports.target import UNDER_WAY, UNKNOWN, ExecutionStatus

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


@dataclass(frozen=True)
class Started:
    """An execution: when it ends (ms), with which result, and when it was stopped."""

    ends_at: int
    end: ExecutionStatus
    stopped_at: int | None = None


class MemoryExecutions:
    """The started executions. While it is `silent`, no poll is answered and nothing is stopped.

    In addition, the next `unanswered` polls are not answered.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.started: dict[str, Started] = {}
        self.looks: list[tuple[int, str]] = []
        self.silent = False
        self.unanswered = 0

    def start(self, arn: str, ends_at: int, end: ExecutionStatus) -> None:
        """Start an execution, unless one has that name."""
        self.started.setdefault(arn, Started(ends_at, end))

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return how each execution stands; None if that is unknown now."""
        self.looks += [(self._now(), arn) for arn in arns]
        is_answered = not self.silent and self.unanswered == 0
        self.unanswered = max(0, self.unanswered - 1)
        return [self._standing(arn) if is_answered else None for arn in arns]

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Stop each execution that is under way; return whether that is done."""
        for arn in () if self.silent else arns:
            one = self.started.get(arn)
            if one is not None and one.stopped_at is None and self._now() < one.ends_at:
                self.started[arn] = replace(one, stopped_at=self._now())
        return [not self.silent and arn in self.started for arn in arns]

    def _standing(self, arn: str) -> ExecutionStatus:
        one = self.started.get(arn)
        if one is None:
            return UNKNOWN
        if one.stopped_at is not None:
            return ExecutionStatus(is_over=True, error="The execution was stopped.")
        return UNDER_WAY if self._now() < one.ends_at else one.end


class MemorySecrets:
    """Secrets by their names. A new value makes the current one the previous one.

    `asked` counts how often values were read; while it `is_away`, reads raise UnavailableError.
    """

    def __init__(self) -> None:
        self._live: dict[str, tuple[str, ...]] = {}
        self.asked = 0
        self.is_away = False

    def put(self, name: str, value: str) -> None:
        """Give a secret a value."""
        self._live[name] = (value, *self._live.get(name, ())[:1])

    def live_values(self, name: str) -> Sequence[str]:
        """Return the current value and the one before."""
        self.asked += 1
        if self.is_away:
            raise UnavailableError("the secrets are away")
        if name not in self._live:
            raise SecretUnreadableError("there is no such secret, or it has no value yet")
        return self._live[name]
