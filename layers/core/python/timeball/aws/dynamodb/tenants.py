"""Tenants and API keys over DynamoDB: one row each, in a table of their own. One partition holds all tenants.

The API keys of a tenant share a partition too.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import DynamoNamedRows, DynamoRows, TableAccess, row_kind
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import SESSIONS
from timeball.aws.dynamodb.table.writes import Writer
from timeball.aws.request_retries import BRISK, BRISKLY, PATIENTLY, Asker
from timeball.domain.model.tenants import key as keys
from timeball.domain.model.tenants.session import Session, key_id_of
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.ports.rows import Swap
from timeball.ports.tenants import Tenants

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_ALL = "TENANTS"
_THREADS = 2


def dynamo_tenants(client: "DynamoDBClient", table: str, asker: Asker = PATIENTLY) -> Tenants:
    """Return the tenants and API keys of a table."""
    rows = _access(client, table, asker)
    tenants, keys_of_tenants = DynamoNamedRows(rows, _TENANTS, tenant_key), DynamoNamedRows(rows, _KEYS, _keys_of)
    return Tenants(tenants, keys_of_tenants, DynamoRows(rows, _SESSIONS))


def _access(client: "DynamoDBClient", table: str, asker: Asker) -> TableAccess:
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tenants")
    writer = Writer(client, table, threads, asker, in_batches=False)
    return TableAccess(TableReader(client, table, asker), writer, Mapper(), threads)


class DynamoHolders:
    """The authorizer's reads of the tenants table. They are strong, so a new process accepts no revoked API key.

    Of all rows it may write those of sessions alone.
    """

    def __init__(self, client: "DynamoDBClient", table: str, asker: Asker = BRISKLY) -> None:
        access = _access(client, table, asker)
        self._reader, self._sessions = access.reader, DynamoRows(access, _SESSIONS)
        self._tenants, self._keys = DynamoRows(access, _TENANTS), DynamoRows(access, _KEYS)

    @classmethod
    def open(cls, table: str) -> Self:
        """Open a table with the credentials and the region of the environment."""
        import boto3  # noqa: PLC0415 - slow, and not needed to import the authorizer

        # A caller waits for every answer of the authorizer: better a failure soon than an answer after a minute.
        return cls(boto3.client("dynamodb", config=BRISK.config()), table)

    def find_holder(self, key_id: str) -> tuple[Tenant | None, keys.Key | None]:
        """Return an API key and its tenant."""
        tenant, key = self._reader.get([tenant_key(keys.tenant_of(key_id)), _key_key(key_id)])
        return self._tenants.row_in(tenant) if tenant else None, self._keys.row_in(key) if key else None

    def find_session(self, session_id: str) -> tuple[Tenant | None, keys.Key | None, Session | None]:
        """Return a session, its API key and its tenant."""
        key_id = key_id_of(session_id)
        wanted = [tenant_key(keys.tenant_of(key_id)), _key_key(key_id), _session_key(session_id)]
        tenant, key, session = self._reader.get(wanted)
        return (
            self._tenants.row_in(tenant) if tenant else None,
            self._keys.row_in(key) if key else None,
            self._sessions.row_in(session) if session else None,
        )

    def note_use(self, before: Session, after: Session, now: int) -> None:
        """Store a session with its use noted, unless its row has changed meanwhile."""
        self._sessions.swap([Swap(before, after)], now)


def tenant_key(name: str) -> Key:
    """Return the key of a tenant's row."""
    return {"pk": _ALL, "sk": name}


def _keys_of(tenant: str) -> Key:
    return {"pk": f"KEYS#{tenant}", "sk": ""}


def _key_key(key_id: str) -> Key:
    return {**_keys_of(keys.tenant_of(key_id)), "sk": key_id}


def _session_key(session_id: str) -> Key:
    return {"pk": f"{SESSIONS}{keys.tenant_of(session_id)}", "sk": session_id}


def _removal(session: Session, _: int) -> Item:
    return {"remove_at": (session.expires_at + DAY_MS) // SECOND_MS}


def _named_by(_: str, sk: str) -> str:
    return sk


_TENANTS = row_kind(Tenant, "name", tenant_key, _named_by)
_KEYS = row_kind(keys.Key, "key_id", _key_key, _named_by)
_SESSIONS = row_kind(Session, "session_id", _session_key, _named_by, _removal)
