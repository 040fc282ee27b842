"""A next release, made up: its shapes of rows differ from today's, in each way in which a release may differ.

Three releases follow one another. `FORMER` is today's code, with the readers that the release before a change has:
both may run beside `NEXT`, which writes the changed shapes.

* A change that processes of the former release may ignore: each row has one attribute more. The former release has no
  reader for it.
* Any other change: attributes of runs, limiters and operations have other names. The former release reads them, and
  writes them under their old names.
"""

import hashlib
from collections.abc import Mapping

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.shapes import Shape, Shapes, Turn
from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.jobs.calendar import Calendar
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.event import Patterns, Subscription, WaitingEvent
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.operation import Operation

WIDER, OTHER = 2, 100
"""The version of a change that may be ignored, and that of any other."""

MARK = "mark"
"""The attribute that the next release adds."""

_RENAMED: Mapping[type, Mapping[str, str]] = {
    Run: {"attempt": "number", "owner": "held_by", "lease_until": "held_until", "reason": "because", "slots": "places"},
    Limiter: {"begun": "holders", "tokens": "bucket"},
    Operation: {"batch": "at_hand", "failures": "failed_jobs"},
}
_WIDENED = (
    Job,
    Backfill,
    BackfillSlots,
    Circuit,
    Task,
    Calendar,
    Freezes,
    Subscription,
    Patterns,
    WaitingEvent,
    UniqueKeyRow,
)


def marked(item: Item) -> Item:
    """Return an item with what the next release adds, which its key determines."""
    return {**item, MARK: mark_of(item)}


def mark_of(item: Item) -> str:
    """Return the mark that belongs to a row."""
    return hashlib.blake2b(f"{item['pk']} {item['sk']}".encode(), digest_size=4).hexdigest()


def unmarked(item: Item) -> Item:
    """Return an item without what the next release adds."""
    return {name: value for name, value in item.items() if name != MARK}


def _renaming(names: Mapping[str, str]) -> Turn:
    return lambda item: {names.get(name, name): value for name, value in item.items()}


def _back(names: Mapping[str, str]) -> Turn:
    return _renaming({new: old for old, new in names.items()})


FORMER: Shapes = {kind: Shape(readers={OTHER: _back(names)}) for kind, names in _RENAMED.items()}
"""The shapes of the release before: of a widened kind it knows nothing."""

NEXT: Shapes = {
    **{kind: Shape(readers={OTHER: _back(names)}, still=(OTHER, _renaming(names))) for kind, names in _RENAMED.items()},
    **{kind: Shape(readers={WIDER: unmarked}, still=(WIDER, marked)) for kind in _WIDENED},
}
"""The shapes of the next release. Its code is today's, so each of its rows is turned as it is read and written."""
