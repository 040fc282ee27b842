"""The bus for events, and its rules, which match events with patterns. Only the bus matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.lifecycle import LifecycleEvent
from timeball.domain.model.terms.event import BusRule, Event, Matched, Subscription


class PatternRefusedError(Exception):
    """The bus refuses a pattern; the text says why."""


class RulesUsedUpError(Exception):
    """The bus has as many rules as it may have."""


@dataclass(frozen=True)
class EventRefusal:
    """Why an event is not on the bus."""

    why: str
    """A sentence."""
    is_unknown: bool = False
    """The event may be on the bus: the outcome is unknown."""


class EventBus(Protocol):
    """The stack's own bus. Matched events arrive in the queue of events with the rule's name, at least once."""

    def put(self, events: Sequence[Event]) -> list[EventRefusal | None]:
        """Put events onto the bus. Return for each why it is not there; None: it is. Never raises."""

    def ensure(self, subscription: Subscription) -> None:
        """Make sure that the bus has the rule of a subscription. May be repeated.

        Raises PatternRefusedError, RulesUsedUpError, UnavailableError.
        """

    def put_off(self, matched: Sequence[tuple[Matched, int]]) -> list[bool]:
        """Send matched events to the queue again, each after its number of seconds (at most 15 minutes) or later.

        False: unknown. Never raises.
        """

    def remove(self, rules: Sequence[BusRule]) -> None:
        """Remove rules, as far as they exist. May be repeated. Raises UnavailableError."""

    def rules(self) -> list[BusRule]:
        """Return all rules that Timeball has made. Raises UnavailableError."""


class LifecycleBus(Protocol):
    """The bus for lifecycle events, which rules of the deployment's owner match."""

    def publish(self, events: Sequence[LifecycleEvent]) -> list[EventRefusal | None]:
        """Put events onto the bus. Return for each why it is not there; None: it is. Never raises."""
