"""The finished attempts of runs over DynamoDB, each in a row of its own."""

from collections.abc import Sequence

from timeball.aws.dynamodb.table.codec import Item, from_text, to_text
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import LAST, attempt_key, attempts_prefix, run_key
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.attempt import Attempt


class DynamoAttempts:
    """The attempts of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each attempt in a row of its own, unless it is stored already."""
        written = self._table.writer.write(
            [Insert({**attempt_key(run, attempt.number), **self._fields(attempt, now)}) for run, attempt in attempts]
        )
        standing = [None if answer.row is None else from_text(Attempt, answer.row["attempt"]) for answer in written]
        return [None if found == attempt else found for (_, attempt), found in zip(attempts, standing, strict=True)]

    def replace(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Overwrite the row of each attempt."""
        self._table.writer.write(
            [Update(attempt_key(run, attempt.number), {}, self._fields(attempt, now)) for run, attempt in attempts]
        )

    def of_run(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""
        prefix = attempts_prefix(run)
        rows = self._table.reader.between(run_key(run)["pk"], prefix, prefix + LAST)
        return [from_text(Attempt, row["attempt"]) for row in rows]

    def _fields(self, attempt: Attempt, now: int) -> Item:
        return {"attempt": to_text(attempt), "expires_at": self._table.mapper.expiry(now)}
