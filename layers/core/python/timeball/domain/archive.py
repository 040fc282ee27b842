"""The archive's objects: lines about what is over, by tenant, kind and hour, under names that a repeat makes again.

Invariant: the name of an object follows from the writes that its lines are about. So a batch that comes again replaces
its own objects, and a batch with other bounds makes others, whose lines a reader finds twice.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Announcement
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Attempt
from timeball.domain.time.instants import DAY_MS, HOUR_MS, format_instant


class LineKind(StrEnum):
    """The subject of a line: each kind has a folder and fields of its own."""

    RUNS = "runs"
    ATTEMPTS = "attempts"
    CHANGES = "changes"


@dataclass(frozen=True)
class StoredAttempt:
    """An attempt that has a row of its own."""

    run: RunId
    """Its run."""
    attempt: Attempt
    """The attempt."""


ArchivedRow = Run | Job | Announcement | StoredAttempt
"""The rows whose writes the archive is about."""


@dataclass(frozen=True)
class RowWrite:
    """A write of a row, as the stream of the table tells it."""

    tenant: str
    """The tenant of the row."""
    at: int
    """When the table noted it (ms), in whole seconds."""
    position: str
    """Its position in the stream: of two writes of a row, the later one has the greater text."""
    name: str
    """A name that no other write has."""
    before: ArchivedRow | None
    """The row before; None: the write inserted it."""
    after: ArchivedRow
    """The row after."""


@dataclass(frozen=True)
class ArchiveLine:
    """One line of JSON, and the object that it goes into."""

    kind: LineKind
    """What it is about."""
    tenant: str
    """The tenant that it belongs to."""
    at: int
    """When its write was noted (ms)."""
    write: str
    """The name of its write."""
    text: str
    """The JSON, without a line break."""


@dataclass(frozen=True)
class ArchiveObject:
    """An object: its key, and its lines as text."""

    key: str
    """The key: `tenant=…/<kind>/day=…/hour=…/<name>`."""
    text: str
    """The lines, each with its line break."""


def objects_of(lines: Iterable[ArchiveLine]) -> list[ArchiveObject]:
    """Return the objects of some lines: one for each tenant, kind and UTC hour. Each keeps the order of its lines."""
    ordered = sorted(lines, key=_folder)
    return [_object(folder, [*those]) for folder, those in groupby(ordered, key=_folder)]


def _object(folder: str, lines: Sequence[ArchiveLine]) -> ArchiveObject:
    digest = hashlib.blake2b("\n".join(line.write for line in lines).encode(), digest_size=12).hexdigest()
    name = f"{lines[0].at % HOUR_MS // 1000:04d}-{digest}.jsonl.gz"
    return ArchiveObject(f"{folder}/{name}", "".join(f"{line.text}\n" for line in lines))


def _folder(line: ArchiveLine) -> str:
    day = format_instant(line.at)[: len("2026-11-24")]
    return f"tenant={line.tenant}/{line.kind}/day={day}/hour={line.at % DAY_MS // HOUR_MS:02d}"
