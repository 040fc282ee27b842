"""The stream of the jobs table: its records as writes of rows, read by the same mapper as the rows themselves.

Only rows that the archive or lifecycle events are about are read. A job's large work is in a row of its own, which must
be read for the jobs whose users have changed them: `named_works` says which.

Rows of other releases are read by their shapes. Both functions raise NewerRowError for a row of a later hundred.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from timeball.aws.dynamodb.table.codec import from_text
from timeball.aws.dynamodb.table.keys import ANNOUNCED, JOB, RESULT, RUN, attempt_in, job_of
from timeball.aws.dynamodb.table.mapper import to_announcement, to_job, to_run
from timeball.aws.dynamodb.table.shapes import FIRST, SHAPES
from timeball.aws.dynamodb.table.writes import from_values
from timeball.domain.archive import ArchivedRow, RowWrite, StoredAttempt
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.jobs.revision import Announcement
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.terms.policies import Work
from timeball.domain.time.instants import SECOND_MS

Record = Mapping[str, Any]
Works = Mapping[tuple[JobKey, str], Work | None]
"""Works by their jobs and digests; None: it is gone."""

_KINDS: Final = ((RUN, Run), (RESULT, Attempt), (ANNOUNCED, Announcement), (JOB, Job))
"""The kinds of rows that the archive is about, by the beginnings of their sort keys."""

_NO_WORKS: Final[Works] = MappingProxyType({})

_MOVED: Final = ("version", "status", "blocked", "generation")
"""The attributes of a job whose change is news of it."""

_DIGITS = 40
"""The most digits of a position in a stream (documented)."""


def named_works(records: Sequence[Record]) -> list[tuple[JobKey, str]]:
    """Return the works with rows of their own that changed jobs have, or had before."""
    changed = (images for images in map(_images, records) if images and _is_changed_job(*images))
    rows = (row for images in changed for row in images if row and "work_digest" in row)
    return list(dict.fromkeys((job_of(row["pk"]), row["work_digest"]) for row in rows))


def read_write(record: Record, works: Works) -> RowWrite | None:
    """Return the write that a record is about; None: the archive is not about it, or a row was removed."""
    images = _images(record)
    if images is None or not _concerns_archive(*images):
        return None
    return _write(record, *images, works)


def read_move(record: Record) -> RowWrite | None:
    """Return the write of a run or a job that a record is about, the job without its work; None: any other write.

    A write of a job is left out if the job's version and status are as they were, as after most plans.
    """
    images = _images(record)
    if images is None or not _is_move(*images):
        return None
    return _write(record, *images, _NO_WORKS)


def _write(record: Record, before: dict[str, Any] | None, after: dict[str, Any], works: Works) -> RowWrite:
    noted, (_, _, label) = record["dynamodb"], record["eventSourceARN"].rpartition("/stream/")
    return RowWrite(
        tenant=after["pk"].partition("#")[0],
        at=int(noted["ApproximateCreationDateTime"]) * SECOND_MS,
        position=f"{label}/{noted['SequenceNumber'].zfill(_DIGITS)}",
        name=record["eventID"],
        before=None if before is None else _row(before, works),
        after=_row(after, works),
    )


def _images(record: Record) -> tuple[dict[str, Any] | None, dict[str, Any]] | None:
    """Return a row before and after a write, in this release's shape; None: no kind of the archive, or removed."""
    noted = record["dynamodb"]
    sk = noted["Keys"]["sk"]["S"]
    kind = next((kind for beginning, kind in _KINDS if sk.startswith(beginning)), None)
    if kind is None or "NewImage" not in noted:
        return None
    shape = SHAPES.get(kind, FIRST)
    before = shape.read(from_values(noted["OldImage"])) if "OldImage" in noted else None
    return before, shape.read(from_values(noted["NewImage"]))


def _concerns_archive(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    return after["sk"] != JOB or _is_changed_job(before, after)


def _is_move(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    if after["sk"] != JOB:
        return bool(after["sk"].startswith(RUN))
    return before is None or any(before.get(name) != after.get(name) for name in _MOVED)


def _is_changed_job(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Say whether a write of a job's row was a user's change: most writes are plans, and are not read at all."""
    return after["sk"] == JOB and (before is None or before["version"] != after["version"])


def _row(row: dict[str, Any], works: Works) -> ArchivedRow:
    pk, sk = row["pk"], row["sk"]
    if sk.startswith(RUN):
        return to_run(row)
    if sk.startswith(RESULT):
        run, _ = attempt_in(pk, sk)
        return StoredAttempt(run, from_text(Attempt, row["attempt"]))
    if sk.startswith(ANNOUNCED):
        return to_announcement(pk.partition("#")[0], row)
    job = to_job(row)
    return with_spec(job, work=works.get((job.key, row["work_digest"]))) if "work_digest" in row else job
