"""The stream of the jobs table as DynamoDB would write it for a store in memory, and the archive as readers see it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from timeball.api.archive import lines_of
from timeball.aws.dynamodb.stream import Works, read_write
from timeball.aws.dynamodb.table.codec import Item, to_text
from timeball.aws.dynamodb.table.keys import attempt_key
from timeball.aws.dynamodb.table.mapper import Mapper, work_digest, work_fields, work_text
from timeball.aws.dynamodb.table.writes import to_values
from timeball.domain.archive import ArchiveLine
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Announcement
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.terms.policies import Work
from timeball.ports.clock import Clock
from timeball.testing.memory_store import MemoryStore

STREAM = "arn:aws:dynamodb:eu-central-1:111122223333:table/jobs/stream/"
LABEL = "2026-11-21T09:00:00.000"
_FIRST = 10**23


class Tape:
    """The records of a stream, in the order of the writes, and the works that rows name."""

    def __init__(self, label: str = LABEL) -> None:
        self.records: list[dict[str, Any]] = []
        self.works: dict[tuple[JobKey, str], Work | None] = {}
        self._mapper, self._label = Mapper(), label

    def write(self, before: Item | None, after: Item | None, at: int) -> dict[str, Any]:
        """Record a write of a row; `after` is None for a row that expires."""
        row = after or before or {}
        number = _FIRST + len(self.records)
        images = {"OldImage": before, "NewImage": after}
        record = {
            "eventID": f"{number:032x}",
            "eventName": "REMOVE" if after is None else "MODIFY" if before else "INSERT",
            "eventSource": "aws:dynamodb",
            "eventSourceARN": STREAM + self._label,
            "dynamodb": {
                "ApproximateCreationDateTime": at // 1000,
                "Keys": to_values({name: row[name] for name in ("pk", "sk")}),
                "SequenceNumber": str(number),
                "StreamViewType": "NEW_AND_OLD_IMAGES",
                **{name: to_values(image) for name, image in images.items() if image is not None},
            },
        }
        self.records.append(record)
        return record

    def run(self, before: Run | None, after: Run, at: int) -> None:
        """Record a write of a run."""
        self.write(None if before is None else self._mapper.of_run(before, at), self._mapper.of_run(after, at), at)

    def job(self, before: Job | None, after: Job, at: int) -> None:
        """Record a write of a job, which has its work."""
        for job in filter(None, (before, after)):
            if "work_digest" in work_fields(job.spec.work) and job.spec.work is not None:
                self.works[job.key, work_digest(work_text(job.spec.work))] = job.spec.work
        self.write(None if before is None else self._mapper.of_job(before, at), self._mapper.of_job(after, at), at)

    def announcement(self, announced: Announcement, at: int) -> None:
        """Record an announcement."""
        self.write(None, self._mapper.of_announcement(announced, at), at)

    def attempt(self, run: RunId, attempt: Attempt, at: int) -> None:
        """Record the row of a finished attempt."""
        self.write(None, {**attempt_key(run, attempt.number), "attempt": to_text(attempt)}, at)

    def lines(self) -> list[ArchiveLine]:
        """Return what the archive writes about all records."""
        return lines_about(self.records, self.works)


def tape_of(store: MemoryStore, clock: Clock) -> Tape:
    """Return the tape of a store in memory, from now on."""
    tape, memory = Tape(), store._memory
    written, note, insert = memory.written, store.changes.note, store.attempts.insert

    def on_row(key: object, before: Any, after: Any, now: int) -> None:
        written(key, before, after, now)
        if isinstance(after, Run):
            tape.run(before, after, clock.now())
        elif isinstance(after, Job):
            tape.job(before, after, clock.now())

    def on_notes(notes: Any, now: int) -> None:
        note(notes, now)
        for one in notes:
            if isinstance(one, Announcement):
                tape.announcement(one, clock.now())

    def on_attempts(attempts: Any, now: int) -> Any:
        for run, attempt in attempts:
            tape.attempt(run, attempt, clock.now())
        return insert(attempts, now)

    memory.written, store.changes.note, store.attempts.insert = on_row, on_notes, on_attempts  # type: ignore[method-assign]
    return tape


def lines_about(records: Iterable[Mapping[str, Any]], works: Works) -> list[ArchiveLine]:
    """Return the lines about records, in their order."""
    writes = (read_write(record, works) for record in records)
    return [line for write in writes if write is not None for line in lines_of(write)]


def newest(texts: Iterable[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the newest line of each key by its tenant and key, as a reader removes doubles."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in map(json.loads, texts):
        name = line["tenantId"], line["lineKey"]
        if name not in found or line["linePosition"] > found[name]["linePosition"]:
            found[name] = line
    return found


def passes(record: Mapping[str, Any], patterns: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether Lambda gives a record to a function that is fed by some patterns."""
    return any(_matches(record, pattern) for pattern in patterns)


def _matches(value: Any, pattern: Any) -> bool:
    if isinstance(pattern, Mapping):
        return isinstance(value, Mapping) and all(_matches(value.get(name), one) for name, one in pattern.items())
    return any(_meets(value, rule) for rule in pattern)


def _meets(value: Any, rule: Any) -> bool:
    if not isinstance(rule, Mapping):
        return bool(value == rule)
    ((name, wanted),) = rule.items()
    if name == "exists":
        return (value is not None) is bool(wanted)
    return name == "prefix" and isinstance(value, str) and value.startswith(wanted)
