"""Tenants and the holders of API keys, in the tenants table: one row each, written once, its attributes the value's."""

from typing import TYPE_CHECKING, Self

from timeball.aws.dynamodb.table.codec import from_item, to_item
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.schema import SCHEMA_VERSION
from timeball.aws.dynamodb.table.writes import from_values, to_values
from timeball.aws.patience import BRISK, BRISKLY, Asker
from timeball.domain.model.tenant import KeyHolder, Tenant

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


class DynamoTenants:
    """The tenants table. A read is eventually consistent: a key may be unknown for a second after it was made."""

    def __init__(self, client: "DynamoDBClient", table: str, asker: Asker = BRISKLY) -> None:
        self._client, self._table, self._asker = client, table, asker

    @classmethod
    def open(cls, table: str) -> Self:
        """Open a table with the credentials and the region of the environment."""
        import boto3  # noqa: PLC0415 - slow, and not needed to import the authorizer

        # A caller waits behind every answer of the authorizer: better no answer soon than one after a minute.
        return cls(boto3.client("dynamodb", config=BRISK.config()), table)

    def create_tenant(self, tenant: Tenant) -> bool:
        """Insert a tenant if absent."""
        return self._insert({"pk": f"TENANT#{tenant.name}", "sk": "TENANT"}, tenant)

    def create_key(self, hashed: str, holder: KeyHolder) -> bool:
        """Insert the holder of a key if absent."""
        return self._insert(_holder_key(hashed), holder)

    def find_holder(self, hashed: str) -> KeyHolder | None:
        """Return the holder of a key, or None if there is none. Raises if the read fails."""
        key = to_values(_holder_key(hashed))
        answer = self._asker.ask(lambda: self._client.get_item(TableName=self._table, Key=key))
        return from_item(KeyHolder, from_values(answer["Item"])) if "Item" in answer else None

    def _insert(self, key: Key, value: Tenant | KeyHolder) -> bool:
        row = to_values({**key, "v": SCHEMA_VERSION, **to_item(value)})
        try:
            self._client.put_item(TableName=self._table, Item=row, ConditionExpression="attribute_not_exists(pk)")
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _holder_key(hashed: str) -> Key:
    return {"pk": f"KEY#{hashed}", "sk": "KEY"}
