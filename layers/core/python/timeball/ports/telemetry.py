"""What people watch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Event:
    """What a metric tells of: its name, whose it is (a tenant, and what of the tenant's), and why.

    `value` is how many of it; of a timing, how many ms one thing took. What is not `watched` is only added up.
    """

    name: str
    tenant: str
    subject: str
    value: int = 1
    reason: str = ""
    is_timing: bool = False
    watched: bool = True


class Telemetry(Protocol):
    """Where events go that people watch. Never raises."""

    def note(self, events: Sequence[Event]) -> None:
        """Take note of events. An empty list is nothing to tell."""
