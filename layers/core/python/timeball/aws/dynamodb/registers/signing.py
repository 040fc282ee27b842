"""The signing secret over DynamoDB: a row of its own, inserted by whoever needs it first."""

from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import SIGNING
from timeball.aws.dynamodb.table.schema import SCHEMA_VERSION
from timeball.aws.dynamodb.table.writes import Insert


class DynamoSigning:
    """The row that has the secret."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def secret(self, fresh: str) -> str:
        """Return what is stored; read first, for it is there but once."""
        (row,) = self._table.reader.get([SIGNING])
        if row is None:
            (written,) = self._table.writer.write([Insert({**SIGNING, "v": SCHEMA_VERSION, "secret": fresh})])
            row = {"secret": fresh} if written.done or written.row is None else written.row
        return str(row["secret"])
