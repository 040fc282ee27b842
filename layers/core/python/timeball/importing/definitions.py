"""The results of an import: for each definition of another scheduler a job, or the sentence that says why not.

Invariant: a reader returns one value for each definition of its input, in the order of the input.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

_NO_ID: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_ID: Final = 64
_LONGEST_NAME: Final = 200
_HASH_LENGTH: Final = 8

Fires = Callable[[int, int], list[int]]
"""The origin's fires (ms) from an instant to another, both included, in order. A fire that runs twice stands twice."""


class UnreadableError(ValueError):
    """An input, or a part of it, that cannot become a job; its text is a sentence that says why."""


@dataclass(frozen=True)
class OriginRule:
    """The scheduler that a definition comes from, and when it would run that definition by its own rules."""

    name: str
    """The name of the scheduler in sentences."""
    key: tuple[object, ...]
    """Two rules with equal names and keys have the same fires."""
    fires: Fires
    """The fires."""


@dataclass(frozen=True)
class ImportedJob:
    """A definition that became a job."""

    where: str
    """Where the definition stands: `line 3`, or its name."""
    written: str
    """The schedule as it was written."""
    job_id: str
    """The id of the job. It depends on the definition alone, so a second import finds the same job."""
    body: Mapping[str, Any]
    """The body of `PUT /v1/jobs/{jobId}`."""
    origin: OriginRule
    """When the origin would run it."""
    notes: tuple[str, ...] = ()
    """Sentences about what the job does not take over, or does otherwise."""
    is_paused: bool = False
    """Whether the definition is switched off, so that the job has to be paused."""


@dataclass(frozen=True)
class RefusedDefinition:
    """A definition that became no job."""

    where: str
    """As of an imported job."""
    written: str
    """As of an imported job."""
    reason: str
    """The sentence that says why not."""


Found = ImportedJob | RefusedDefinition


@dataclass(frozen=True)
class Timetable:
    """The schedule of a job, and what it was made from."""

    fields: Mapping[str, Any]
    """The fields of the job that say when it fires."""
    origin: OriginRule
    """When the origin would run it."""
    notes: tuple[str, ...] = ()
    """As of an imported job."""


@dataclass(frozen=True)
class ImportOptions:
    """The options of an import."""

    now: int
    """The present instant (ms)."""
    calls: Mapping[str, Any]
    """The fields of each job that say what it calls, where the origin ran a command of its own."""
    timezone: str | None = None
    """The zone of the origin's clock, where the definitions do not say it; None: not given."""
    is_system: bool = False
    """Whether a crontab has a column for the user."""


def id_of(words: str, *unique: object) -> str:
    """Return a job's id: a few words to recognize it by, and a hash of what makes the definition unique."""
    digest = hashlib.sha256(repr(unique).encode()).hexdigest()[:_HASH_LENGTH]
    return f"{_slug(words)[: _LONGEST_ID - _HASH_LENGTH - 1].rstrip('-')}-{digest}"


def id_of_name(name: str) -> str:
    """Return a job's id for a name that is unique: the name itself, if it may be an id."""
    return name if len(name) <= _LONGEST_ID and _slug(name) == name else id_of(name, name)


def name_of(text: str) -> str:
    """Return a job's name: the text in one line, cut to its greatest length."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 3]}..."


def with_unique_ids(found: Iterable[Found]) -> list[Found]:
    """Return the definitions; equal ones get ids of their own, by their order."""
    seen: dict[str, int] = {}
    unique: list[Found] = []
    for one in found:
        if isinstance(one, ImportedJob):
            times = seen[one.job_id] = seen.get(one.job_id, 0) + 1
            again = one if times == 1 else replace(one, job_id=f"{one.job_id[: _LONGEST_ID - 5]}-{times}")
            unique.append(again)
        else:
            unique.append(one)
    return unique


def _slug(words: str) -> str:
    return _NO_ID.sub("-", words).strip("-") or "job"
