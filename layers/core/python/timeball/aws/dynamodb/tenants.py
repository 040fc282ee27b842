"""Tenants and API keys over DynamoDB: one row each, in a table of their own. One partition holds all tenants.

The API keys of a tenant share a partition too.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from timeball.aws.dynamodb.table.codec import Item, from_item, to_item
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import LAST, Key
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import SCHEMA_VERSION
from timeball.aws.dynamodb.table.writes import Writer
from timeball.aws.patience import BRISK, BRISKLY, PATIENTLY, Asker
from timeball.domain.model.tenants import key as keys
from timeball.domain.model.tenants.tenant import Tenant
from timeball.ports.tenants import Tenants

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_ALL = "TENANTS"
_THREADS = 2


class DynamoTenantRows(DynamoRows[str, Tenant]):
    """The tenants of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(tenant_key, _tenant_item, _to_tenant))

    def listed(self, after: str, limit: int) -> list[Tenant]:
        """Return tenants after a name."""
        return [*map(_to_tenant, islice(self._table.reader.between(_ALL, f"{after} ", LAST), limit))]


class DynamoKeyRows(DynamoRows[str, keys.Key]):
    """The keys of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(_key_key, _key_item, _to_key))

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[keys.Key]:
        """Return a tenant's API keys after an id."""
        rows = self._table.reader.between(_keys_of(tenant), f"{after} ", LAST)
        return [*map(_to_key, islice(rows, limit))]


def dynamo_tenants(client: "DynamoDBClient", table: str, asker: Asker = PATIENTLY) -> Tenants:
    """Return the tenants and API keys of a table."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tenants")
    writer = Writer(client, table, threads, asker, in_batches=False)
    rows = TableAccess(TableReader(client, table, asker), writer, Mapper(), threads)
    return Tenants(DynamoTenantRows(rows), DynamoKeyRows(rows))


class DynamoHolders:
    """The authorizer's reads of the tenants table. They are strong, so a new process accepts no revoked API key."""

    def __init__(self, client: "DynamoDBClient", table: str, asker: Asker = BRISKLY) -> None:
        self._reader = TableReader(client, table, asker)

    @classmethod
    def open(cls, table: str) -> Self:
        """Open a table with the credentials and the region of the environment."""
        import boto3  # noqa: PLC0415 - slow, and not needed to import the authorizer

        # A caller waits for every answer of the authorizer: better a failure soon than an answer after a minute.
        return cls(boto3.client("dynamodb", config=BRISK.config()), table)

    def find_holder(self, key_id: str) -> tuple[Tenant | None, keys.Key | None]:
        """Return an API key and its tenant."""
        tenant, key = self._reader.get([tenant_key(keys.tenant_of(key_id)), _key_key(key_id)])
        return _to_tenant(tenant) if tenant else None, _to_key(key) if key else None


def tenant_key(name: str) -> Key:
    """Return the key of a tenant's row."""
    return {"pk": _ALL, "sk": name}


def _keys_of(tenant: str) -> str:
    return f"KEYS#{tenant}"


def _key_key(key_id: str) -> Key:
    return {"pk": _keys_of(keys.tenant_of(key_id)), "sk": key_id}


def _tenant_item(tenant: Tenant, _: int) -> Item:
    return {**tenant_key(tenant.name), "v": SCHEMA_VERSION, **to_item(tenant, "name")}


def _key_item(key: keys.Key, _: int) -> Item:
    return {**_key_key(key.key_id), "v": SCHEMA_VERSION, **to_item(key, "key_id")}


def _to_tenant(row: dict[str, Any]) -> Tenant:
    return from_item(Tenant, row, name=row["sk"])


def _to_key(row: dict[str, Any]) -> keys.Key:
    return from_item(keys.Key, row, key_id=row["sk"])
