"""A deployment's knowledge of the one before: a row of the jobs table, and what else that table shows.

The table is found by its logical id, because a template that named the table itself would change it first.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.writes import to_values
from timeball.aws.request_retries import PATIENTLY, Asker
from timeball.domain.deployment import Deployment
from timeball.domain.model.ids import MOST_SHARDS

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_SETTLED: Key = {"pk": "DEPLOYMENT", "sk": "SETTLED"}


def table_of(client: Any, stack: str, logical_id: str, asker: Asker = PATIENTLY) -> str | None:  # noqa: ANN401 - boto3's
    """Return the name of a table of a stack; None if the stack has no such table yet."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

    try:
        answer = asker.ask(lambda: client.describe_stack_resource(StackName=stack, LogicalResourceId=logical_id))
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ValidationError":
            return None
        raise
    name: str | None = answer["StackResourceDetail"].get("PhysicalResourceId") or None
    return name


class Deployments:
    """The deployments of one jobs table."""

    def __init__(self, client: "DynamoDBClient", table: str, asker: Asker = PATIENTLY) -> None:
        self._client, self._table, self._asker = client, table, asker
        self._due = dynamo_store(client, table, threads=1, asker=asker).due

    def kept(self) -> Deployment | None:
        """Return the last deployment that succeeded; None if none was kept."""
        row = TableReader(self._client, self._table, self._asker).get([_SETTLED])[0]
        return Deployment.read(row) if row else None

    def keep(self, settled: Deployment) -> None:
        """Keep a deployment that has succeeded."""
        item = to_values({**_SETTLED, **asdict(settled)})
        self._asker.ask(lambda: self._client.put_item(TableName=self._table, Item=item))

    def used_shards(self) -> int:
        """Return how many shards the rows of scans show. There may be more, without a drained day."""
        return max(self._due.read_oldest_days(range(MOST_SHARDS)), default=-1) + 1

    def use_shards(self, shards: int) -> None:
        """Let scans query so many shards, before any entry is in them."""
        self._due.most_shards(shards)

    def protect(self) -> None:
        """Protect the table from deletion, by a person or a stack, until a person removes the protection."""
        self._asker.ask(lambda: self._client.update_table(TableName=self._table, DeletionProtectionEnabled=True))
