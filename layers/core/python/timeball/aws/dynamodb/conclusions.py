"""The end of a job by the run of its final fire: one write on named conditions, without a reading before it.

A job that has ended leaves the due index, unless an intent stands on it: then it stays for the scan.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import JOB, job_key, list_key
from timeball.aws.dynamodb.table.writes import Update, Written
from timeball.domain.policy.effects import Conclusion
from timeball.ports.errors import UnavailableError

_TRIES = 5


class Conclusions:
    """The conclusions of one table's jobs."""

    def __init__(self, table: Table) -> None:
        self._writer, self._mapper = table.writer, table.mapper

    def apply(self, conclusions: Sequence[Conclusion]) -> list[bool]:
        """Give each job its final status, if its own allows it and the fire is its final one."""
        written = self._writer.write([self._update(conclusion) for conclusion in conclusions])
        return [self._is_done(conclusion, one) for conclusion, one in zip(conclusions, written, strict=True)]

    def _is_done(self, conclusion: Conclusion, written: Written) -> bool:
        """Say whether a conclusion holds; one that met an intent is written again as that has it."""
        for _ in range(_TRIES):
            row = written.row
            if written.done or _is_concluded(row, conclusion):
                return True
            if row is None or "intent" not in row or not _is_open(row, conclusion):
                return False
            written = self._writer.write([self._update(conclusion, row["revision"])])[0]
        raise UnavailableError(f"job {conclusion.job.job_id} kept changing")

    def _update(self, conclusion: Conclusion, intent_revision: int | None = None) -> Update:
        """Return the write; of a job with an intent as it was read at a revision, or of one without any."""
        leaves = intent_revision is None
        where: dict[str, Sequence[str | int]] = {
            "status": [status.value for status in conclusion.open_statuses],
            "final_fire_at": [conclusion.fire_at],
        }
        return Update(
            job_key(conclusion.job),
            where=where if intent_revision is None else {**where, "revision": [intent_revision]},
            set={
                "status": conclusion.status.value,
                "list_key": list_key(conclusion.job, conclusion.status, self._mapper.list_shards),
                "updated_at": conclusion.at,
                "expires_at": self._mapper.expiry(conclusion.at),
            },
            remove=("next_fire_at", "due_at", "due_bucket") if leaves else ("next_fire_at",),
            increment=("revision",),
            absent=("intent",) if leaves else (),
        )


def _is_open(row: Mapping[str, Any], conclusion: Conclusion) -> bool:
    return (
        row["sk"] == JOB
        and row["status"] in conclusion.open_statuses
        and row.get("final_fire_at") == conclusion.fire_at
    )


def _is_concluded(row: Mapping[str, Any] | None, conclusion: Conclusion) -> bool:
    return (
        row is not None
        and row["sk"] == JOB
        and row["status"] == conclusion.status
        and row["updated_at"] == conclusion.at
    )
