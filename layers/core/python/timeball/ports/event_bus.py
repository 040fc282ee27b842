"""The bus on which events travel, and the rules by which it says whose patterns they match. It alone matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.terms.event import BusRule, Event, Matched, Subscription


class PatternRefusedError(Exception):
    """The bus does not take a pattern; the text says why."""


class RulesUsedUpError(Exception):
    """The bus has as many rules as it may have."""


@dataclass(frozen=True)
class Refusal:
    """Why an event is not on the bus, in a sentence; or that nobody knows whether it is: then it `is_unknown`."""

    why: str
    is_unknown: bool = False


class EventBus(Protocol):
    """The stack's own bus. What a rule matches comes to the queue of events with the rule's name, at least once."""

    def put(self, events: Sequence[Event]) -> list[Refusal | None]:
        """Put events onto the bus; return of each why it is not there, None: it is. Never raises."""

    def ensure(self, subscription: Subscription) -> None:
        """Let the bus have the rule of a subscription. May be repeated.

        Raises PatternRefusedError, RulesUsedUpError, UnavailableError.
        """

    def put_off(self, matched: Sequence[tuple[Matched, int]]) -> list[bool]:
        """Let what was matched come to the queue again, each in so many seconds (at most 15 minutes) or later.

        False: unknown. Never raises.
        """

    def remove(self, rules: Sequence[BusRule]) -> None:
        """Remove rules, as far as they are there. May be repeated. Raises UnavailableError."""

    def rules(self) -> list[BusRule]:
        """Return all rules that Timeball has made. Raises UnavailableError."""
