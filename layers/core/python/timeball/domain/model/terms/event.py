"""Events that let jobs run: what a tenant sends, how that travels on the bus, and which jobs a pattern of it lets run.

On the bus an event lies, as a whole, within another one that Timeball makes: its source is Timeball's, its type the
tenant. So a pattern matches only what was sent under its tenant's name, whatever the two say.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from timeball.domain.model.ids import JobKey, Origin, RunId

BUS_SOURCE: Final = "timeball"
"""The source of what Timeball puts on its bus."""

KEPT_BESIDE: Final = "timeball"
"""Where Timeball keeps in an event on the bus what is its own; no attribute of an event is called so."""

MOST_BYTES: Final = 256 * 1024
"""What EventBridge takes in one request, whether of one event or of ten."""

_ON_THE_BUS: Final = {"type": "detail-type", "data": "detail"}
_IN_A_CLOUDEVENT: Final = {name: attribute for attribute, name in _ON_THE_BUS.items()}
_RULE: Final = re.compile(r"([A-Za-z0-9-]{1,40})\.([a-z2-7]{16})\.([1-9][0-9]{0,5})", re.ASCII)


@dataclass(frozen=True, order=True)
class SubscriptionKey:
    """A pattern within its tenant, by its digest."""

    tenant: str
    digest: str


@dataclass(frozen=True, order=True)
class BusRule:
    """A rule on the bus: of a subscription, and which one in a row. Its text is its name there."""

    key: SubscriptionKey
    generation: int

    def __str__(self) -> str:
        return f"{self.key.tenant}.{self.key.digest}.{self.generation}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Return the rule that a name is, or None if Timeball gives no such name."""
        match = _RULE.fullmatch(name)
        return None if match is None else cls(SubscriptionKey(match[1], match[2]), int(match[3]))


@dataclass(frozen=True)
class Subscriber:
    """A job that may have the pattern, and since when: it notes that before its row says so."""

    job_id: str
    noted_at: int


@dataclass(frozen=True)
class Subscription:
    """A pattern of a tenant, and the jobs that it lets run: one row, and one rule on the bus.

    One that `is_gone` has no rule any more, or soon will not. The next one has another name: so whoever removes the
    old one, however late, removes nothing that is in use.
    """

    key: SubscriptionKey
    pattern: str
    created_at: int
    jobs: tuple[Subscriber, ...] = field(default_factory=tuple)
    generation: int = 1
    is_gone: bool = False
    revision: int = 1

    @property
    def rule(self) -> BusRule:
        """The rule that matches the pattern."""
        return BusRule(self.key, self.generation)


@dataclass(frozen=True)
class Event:
    """An event of a tenant: a CloudEvent, by its attributes, and when it was first taken in (ms).

    It is known by `source` and `id`. `depth` is its generation (generations.py).
    """

    tenant: str
    attributes: Mapping[str, Any]
    accepted_at: int
    depth: int = 0

    @property
    def payload(self) -> str:
        """What its runs are handed: the event as JSON."""
        return _compact(self.attributes)

    @property
    def size(self) -> int:
        """How many bytes it has on the bus, as EventBridge counts them."""
        return len(BUS_SOURCE) + len(self.tenant) + len(on_the_bus(self).encode())

    def run_of(self, job: JobKey) -> RunId:
        """Return the run that it makes of a job, however often it comes."""
        return RunId(job, self.accepted_at, Origin.EVENT, name_of_event(self.attributes))


@dataclass(frozen=True)
class Matched:
    """An event, and the rule that matched it: runs are to be made of those jobs with ids after `after`.

    One that comes `again` was put off, as its tenant had asked for many runs.
    """

    rule: BusRule
    event: Event
    after: str = ""
    again: bool = False


def name_of_event(attributes: Mapping[str, Any]) -> str:
    """Return what stands for an event in the names of its runs: a digest of its source and id."""
    named = _compact([attributes["source"], attributes["id"]])
    return _digest(named, 16)


def subscription_key(tenant: str, pattern: str) -> SubscriptionKey:
    """Return the subscription to a pattern, of which the text is canonical."""
    return SubscriptionKey(tenant, _digest(pattern, 10))


def bus_pattern(subscription: Subscription) -> str:
    """Return the pattern of a subscription's rule: its own, of what its tenant sends."""
    own = json.loads(subscription.pattern)
    return _compact({"source": [BUS_SOURCE], "detail-type": [subscription.key.tenant], "detail": own})


def on_the_bus(event: Event) -> str:
    """Return the detail of an event on the bus, in which patterns find the names that EventBridge has for its parts."""
    named = {_ON_THE_BUS.get(name, name): value for name, value in event.attributes.items()}
    return _compact({**named, KEPT_BESIDE: {"at": event.accepted_at, "depth": event.depth}})


def from_the_bus(tenant: str, detail: Mapping[str, Any]) -> Event:
    """Return the event that a detail on the bus holds. Raises KeyError, TypeError or ValueError for what is none."""
    beside = detail[KEPT_BESIDE]
    attributes = {_IN_A_CLOUDEVENT.get(name, name): value for name, value in detail.items() if name != KEPT_BESIDE}
    return Event(tenant, attributes, int(beside["at"]), int(beside["depth"]))


def _digest(text: str, size: int) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=size).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
