"""The signing secrets over DynamoDB: in a row of their own, inserted by the first process that needs it."""

from typing import Any

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import SIGNING
from timeball.aws.dynamodb.table.schema import SCHEMA_VERSION
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.attempts.callback_token import SigningSecrets, rotated


class DynamoSigning:
    """The row that has the secrets."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the stored secrets; read first, because mostly they exist."""
        (row,) = self._table.reader.get([SIGNING])
        if row is None:
            (written,) = self._table.writer.write([Insert({**SIGNING, "v": SCHEMA_VERSION, "secret": fresh})])
            row = {"secret": fresh} if written.done or written.row is None else written.row
        return _to_secrets(row)

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make another secret the newest. Of two rotations at once the second is refused, and finds the first."""
        before = self.secrets(fresh)
        after = None if before.newest == fresh else rotated(before, fresh, now)
        if after is None:
            return before
        changes: Item = {"secret": after.newest, "before": before.newest, "rotated_at": now}
        (written,) = self._table.writer.write([Update(SIGNING, {"secret": before.newest}, changes)])
        if written.done:
            return after
        return self.secrets(fresh) if written.row is None else _to_secrets(written.row)


def _to_secrets(row: dict[str, Any]) -> SigningSecrets:
    before = row.get("before")
    return SigningSecrets(str(row["secret"]), None if before is None else str(before), int(row.get("rotated_at", 0)))
