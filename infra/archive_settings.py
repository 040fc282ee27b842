"""The settings of the archive: whether there is one, what it holds, and for how long."""

import re
from dataclasses import dataclass
from typing import Final

from timeball.setting import one_of, setting, whole

OFF, BASIC, FULL = "off", "basic", "full"

_LONGEST_DAYS: Final = 36_500
_STREAM: Final = re.compile(
    r"arn:[a-z-]+:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]{3,255}/stream/[0-9T:.-]{10,40}"
)


def _stream(text: str) -> str:
    if text and not _STREAM.fullmatch(text):
        raise ValueError("must be the ARN of the stream of a table, with its label at the end, or empty")
    return text


@dataclass(frozen=True)
class ArchiveSettings:
    """The settings of the archive."""

    archive: str = one_of(
        OFF,
        (OFF, BASIC, FULL),
        "Whether a bucket keeps [each run that ended and each change of a user](archive.md): `basic`; `full`, also "
        "each attempt that failed or has a long answer, with its answer; or `off`",
    )
    archive_seconds: int = whole(
        60,
        0,
        300,
        "How long the archive gathers lines into one object: fewer objects cost less, and come later",
    )
    archive_cold_days: int = whole(
        0,
        0,
        _LONGEST_DAYS,
        "After how many days S3 moves archived objects of 128 KB or more to Glacier Instant Retrieval, where the same "
        "queries read them; 0: never",
    )
    archive_days: int = whole(0, 0, _LONGEST_DAYS, "After how many days S3 deletes archived objects; 0: never")
    jobs_stream: str = setting(
        "",
        "ARN of the stream of an existing `jobs_table`, with new and old images, if there is an archive or "
        "`lifecycle_events`",
        _stream,
    )

    @property
    def is_on(self) -> bool:
        """Return whether there is an archive."""
        return self.archive != OFF

    def contradictions(self, jobs_table: str, *, has_stream: bool) -> list[str]:
        """Return which settings contradict each other, or the existing jobs table."""
        problems = []
        if has_stream and bool(jobs_table) != bool(self.jobs_stream):
            problems.append(
                "jobs_stream must be set with jobs_table if there is an archive, or lifecycle_events, and only then: "
                "the stack makes the stream of its own table"
            )
        if jobs_table and self.jobs_stream and f":table/{jobs_table}/stream/" not in self.jobs_stream:
            problems.append("jobs_stream must be the stream of jobs_table")
        if self.archive_days and self.archive_cold_days >= self.archive_days:
            problems.append("archive_cold_days must be less than archive_days: what is deleted is not moved before")
        return problems
