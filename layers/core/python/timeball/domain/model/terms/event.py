"""Events that let jobs run: their form from the tenant and on the bus, the jobs of a pattern, a tenant's patterns.

On the bus, an event is contained in another event, which Timeball makes. The outer source is Timeball's, and the outer
type is the tenant. So a pattern matches only the events of its tenant, whatever source and type these carry.

Invariant: all tenants share the rules of one bus, and a pattern needs a rule. The tenant's row names a pattern before
its rule is made, and drops it after the rule is gone. So a tenant never has more rules than patterns that are named
there, wherever a process dies.
"""

import base64
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.time.instants import LATEST, MINUTE_MS

BUS_SOURCE: Final = "timeball"
"""The source of events that Timeball puts on its bus."""

KEPT_BESIDE: Final = "timeball"
"""The member of an event on the bus that holds Timeball's own data; no attribute of an event has this name."""

MOST_BYTES: Final = 256 * 1024
"""The most bytes that EventBridge accepts in one request, whether of one event or of ten."""

_ON_THE_BUS: Final = {"type": "detail-type", "data": "detail"}
_IN_A_CLOUDEVENT: Final = {name: attribute for attribute, name in _ON_THE_BUS.items()}
_RULE: Final = re.compile(r"([A-Za-z0-9-]{1,40})\.([a-z2-7]{16})\.([1-9][0-9]{0,5})", re.ASCII)


@dataclass(frozen=True, order=True)
class SubscriptionKey:
    """The name of a subscription."""

    tenant: str
    """The tenant that subscribes."""
    digest: str
    """A digest of the pattern."""


@dataclass(frozen=True, order=True)
class BusRule:
    """A rule on the bus. Its text is its name there."""

    key: SubscriptionKey
    """The subscription that it belongs to."""
    generation: int
    """Counts the rules of the subscription."""

    def __str__(self) -> str:
        return f"{self.key.tenant}.{self.key.digest}.{self.generation}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Return the rule of a name; None if Timeball does not make such names."""
        match = _RULE.fullmatch(name)
        return None if match is None else cls(SubscriptionKey(match[1], match[2]), int(match[3]))


@dataclass(frozen=True)
class Subscriber:
    """A job that may have the pattern: the note is written before the job's row says so."""

    job_id: str
    """The job's id."""
    noted_at: int
    """When it was noted (ms)."""


@dataclass(frozen=True)
class Subscription:
    """A pattern of a tenant, and the jobs that it lets run: one row, and one rule on the bus."""

    key: SubscriptionKey
    """The tenant, and the digest of the pattern."""
    pattern: str
    """The pattern, as canonical JSON text."""
    created_at: int
    """When the row was created (ms)."""
    jobs: tuple[Subscriber, ...] = field(default_factory=tuple)
    """The jobs that may have the pattern."""
    generation: int = 1
    """The number of the rule. A new rule gets a new name, so a late removal of the old one does no harm."""
    is_gone: bool = False
    """It has no rule any more, or soon will not."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def rule(self) -> BusRule:
        """The rule that matches the pattern."""
        return BusRule(self.key, self.generation)

    @property
    def job_keys(self) -> list[JobKey]:
        """The jobs that may have the pattern."""
        return [JobKey(self.key.tenant, one.job_id) for one in self.jobs]


@dataclass(frozen=True)
class Event:
    """An event of a tenant: a CloudEvent. Its `source` and `id` identify it."""

    tenant: str
    """The tenant that sent it."""
    attributes: Mapping[str, Any]
    """The attributes of the CloudEvent."""
    accepted_at: int
    """When it was first accepted (ms)."""
    depth: int = 0
    """Its depth (depths.py)."""

    @property
    def payload(self) -> str:
        """The payload of its runs: the event as JSON."""
        return _compact(self.attributes)

    @property
    def size(self) -> int:
        """Its size on the bus in bytes, as EventBridge counts them."""
        return len(BUS_SOURCE) + len(self.tenant) + len(on_the_bus(self).encode())

    def run_of(self, job: JobKey, generation: int) -> RunId:
        """Return the run of a job that the event makes: the same one however often the event comes."""
        return RunId(job, self.accepted_at, Origin.EVENT, name_of_event(self.attributes), generation)


@dataclass(frozen=True, order=True)
class WaitingEventKey:
    """The name of an event that waits for a fire."""

    job: JobKey
    """The job that has the fire."""
    name: str
    """Its name within the job, by `waiting_name`."""


@dataclass(frozen=True)
class WaitingEvent:
    """An event that came for a job with a pattern and a schedule: the job's next fire may use it."""

    key: WaitingEventKey
    """The job, and the name."""
    digest: str
    """The name of the work that has the event as its payload."""
    used_by: RunId | None = None
    """The run that has taken it last; None: none has."""
    revision: int = 1
    """Counts the writes of the row."""


@dataclass(frozen=True)
class Matched:
    """An event, with the rule that matched it: its runs must be made."""

    rule: BusRule
    """The rule that matched."""
    event: Event
    """The event."""
    after: str = ""
    """Runs are made of the jobs with greater ids; empty: of all."""
    again: bool = False
    """It was deferred, because its tenant had asked for many runs."""


def name_of_event(attributes: Mapping[str, Any]) -> str:
    """Return the name of an event in the ids of its runs: a digest of its source and id."""
    named = _compact([attributes["source"], attributes["id"]])
    return _digest(named, 16)


def subscription_key(tenant: str, pattern: str) -> SubscriptionKey:
    """Return the key of the subscription to a pattern, given as canonical text."""
    return SubscriptionKey(tenant, _digest(pattern, 10))


def waiting_name(pattern: SubscriptionKey, generation: int, accepted_at: int, event: str = "") -> str:
    """Return the name of an event that waits: within a pattern and a generation of its job, the newest sorts first.

    Without an event, the name sorts after all events that were accepted later, and before all others.
    """
    newest_first = f"{waiting_prefix(pattern, generation)}{LATEST - accepted_at:015d}"
    return f"{newest_first}.{event}" if event else newest_first


def waiting_prefix(pattern: SubscriptionKey, generation: int) -> str:
    """Return the prefix of the names of all events that wait for fires of a job with this pattern and generation."""
    return f"{pattern.digest}.{generation:06d}."


def bus_pattern(subscription: Subscription) -> str:
    """Return the pattern of a subscription's rule: the subscription's own, restricted to events of its tenant."""
    own = json.loads(subscription.pattern)
    return _compact({"source": [BUS_SOURCE], "detail-type": [subscription.key.tenant], "detail": own})


def on_the_bus(event: Event) -> str:
    """Return the detail of an event on the bus. Its members have EventBridge's names, which patterns use."""
    named = {_ON_THE_BUS.get(name, name): value for name, value in event.attributes.items()}
    return _compact({**named, KEPT_BESIDE: {"at": event.accepted_at, "depth": event.depth}})


def from_the_bus(tenant: str, detail: Mapping[str, Any]) -> Event:
    """Return the event that a detail on the bus holds. Raises KeyError, TypeError or ValueError if it holds none."""
    beside = detail[KEPT_BESIDE]
    attributes = {_IN_A_CLOUDEVENT.get(name, name): value for name, value in detail.items() if name != KEPT_BESIDE}
    return Event(tenant, attributes, int(beside["at"]), int(beside["depth"]))


def _digest(text: str, size: int) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=size).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


YOUNG_MS: Final = MINUTE_MS
"""Longer than a request lives: a pattern that was noted this recently may be about to be used."""


@dataclass(frozen=True)
class NotedPattern:
    """A pattern of a tenant."""

    digest: str
    """The digest of the pattern."""
    noted_at: int
    """When a request last noted it (ms)."""


@dataclass(frozen=True)
class Patterns:
    """The patterns of a tenant."""

    tenant: str
    """The tenant."""
    noted: tuple[NotedPattern, ...] = ()
    """The patterns."""
    checked_at: int = 0
    """When the rules were last checked for jobs that need them (ms); 0: never."""
    revision: int = 1
    """Counts the writes of the row."""

    def old(self, now: int) -> list[str]:
        """Return the patterns that no request is about to use for the first time."""
        return [one.digest for one in self.noted if one.noted_at <= now - YOUNG_MS]


def with_pattern(patterns: Patterns, digest: str, most: int, now: int) -> Patterns | None:
    """Return a tenant's patterns with one that is noted now; None: there are `most` others already (0: no bound)."""
    others = tuple(one for one in patterns.noted if one.digest != digest)
    return None if most and len(others) >= most else evolve(patterns, noted=(*others, NotedPattern(digest, now)))


def without(patterns: Patterns, gone: Collection[str]) -> Patterns:
    """Return a tenant's patterns without those that have no rule any more."""
    return evolve(patterns, noted=tuple(one for one in patterns.noted if one.digest not in gone))
