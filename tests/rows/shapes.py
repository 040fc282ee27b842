"""The shape of each kind of row, as text: the fields of its dataclass and of all values within, with their defaults.

A release keeps the shapes of its rows. `complaints` compares them with those of the present code.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any, get_args

from timeball.aws.dynamodb.table.shapes import FIRST, SHAPES, Shapes
from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.jobs.calendar import Calendar
from timeball.domain.model.jobs.freeze import Freeze, Freezes
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Announcement, Revision
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.session import Session
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.event import Patterns, Subscription, WaitingEvent
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.model.terms.policies import Work
from timeball.domain.operation import Operation
from timeball.domain.planning.era import Era

KINDS: tuple[type, ...] = (
    Announcement,
    Attempt,
    Backfill,
    BackfillSlots,
    Calendar,
    Circuit,
    Era,
    Freeze,
    Freezes,
    Job,
    Key,
    Limiter,
    Operation,
    Patterns,
    Revision,
    Run,
    Session,
    Subscription,
    Task,
    Tenant,
    UniqueKeyRow,
    WaitingEvent,
    Work,
)
"""The values that have rows. All other rows have one shape for ever."""

Kept = Mapping[str, Any]

_SAYS = (
    "The shape of {kind} rows has changed since {release}, and their version has not: processes of both releases read "
    "these rows during a deployment. Raise its version in SHAPES (aws/dynamodb/table/shapes.py) and add a reader of "
    "version {version}; CONTRIBUTING.md, 'Changing a row', says by how much. Changed: {changed}"
)
_UNREAD = "{release} has {kind} rows of version {version}, and Shape.readers of {kind} in SHAPES has no reader of it."


def shapes_now(shapes: Shapes = SHAPES) -> Kept:
    """Return the present shapes: of each kind its version, and the fields of it and of all values within."""
    return {
        kind.__name__: {
            "v": shapes.get(kind, FIRST).version,
            "values": {one.__name__: _described(one) for one in sorted(_within(kind), key=lambda one: one.__name__)},
        }
        for kind in KINDS
    }


def complaints(kept: Kept, release: str, shapes: Shapes = SHAPES, now: Kept | None = None) -> Iterator[str]:
    """Say what must be done before rows of a release can be read by the present code, and by its own code again."""
    now = now or shapes_now(shapes)
    for kind in KINDS:
        then, today = kept[kind.__name__], now[kind.__name__]
        shape, about = shapes.get(kind, FIRST), {"kind": kind.__name__, "release": release, "version": then["v"]}
        if then["v"] != today["v"]:
            if then["v"] not in shape.readers:
                yield _UNREAD.format(**about)
        elif then["values"] != today["values"]:
            yield _SAYS.format(**about, changed=", ".join(_changes(then["values"], today["values"])))


def _changes(then: Kept, today: Kept) -> Iterator[str]:
    for name in sorted({*then, *today}):
        was, is_now = then.get(name, {}), today.get(name, {})
        yield from (f"{name}.{one}" for one in sorted({*was, *is_now}) if was.get(one) != is_now.get(one))


def _within(kind: Any) -> set[Any]:
    """Return the dataclasses and enumerations within a type, itself included."""
    found: set[Any] = set()
    waiting = [kind]
    while waiting:
        one = waiting.pop()
        waiting += get_args(one)
        if one in found or not isinstance(one, type) or not (is_dataclass(one) or issubclass(one, Enum)):
            continue
        found.add(one)
        waiting += [part.type for part in fields(one)] if is_dataclass(one) else []
    return found


def _described(kind: Any) -> dict[str, str]:
    if issubclass(kind, Enum):
        return {"one of": " ".join(sorted(str(one.value) for one in kind))}
    return {one.name: _field(one) for one in fields(kind)}


def _field(one: Field[Any]) -> str:
    default = "" if one.default is MISSING else f" = {_plainly(one.default)}"
    made = "" if one.default_factory is MISSING else f" = {_plainly(one.default_factory())}"
    return f"{_named(one.type)}{default}{made}"


def _plainly(default: object) -> str:
    return str(default.value) if isinstance(default, Enum) else repr(default)


def _named(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind).replace("timeball.", "")
