"""Tenants and their API keys, in the tenants table. A key is stored as a hash: nobody can read it back.

A key has 256 random bits, so a plain SHA-256 of it cannot be guessed, and finding one is a single read.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from timeball.aws.patience import BRISK, BRISKLY, Asker
from timeball.aws.schema import SCHEMA_VERSION, TENANTS

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.type_defs import AttributeValueTypeDef

KEY_PREFIX: Final = "tb_"
"""What every key begins with, so that one in a log or a repository is known for what it is."""

_TENANT: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class IssuedKey:
    """A new key. `key` is shown to its owner now and never again; `key_id` names it in logs and lists."""

    key: str
    key_id: str


@dataclass(frozen=True)
class KeyHolder:
    """Whom a key belongs to, and until when (ms; None: for good)."""

    tenant: str
    key_id: str
    expires_at: int | None = None

    def is_valid(self, now: int) -> bool:
        """Say whether the key opens anything at an instant."""
        return self.expires_at is None or now < self.expires_at


def hash_of(key: str) -> str:
    """Return the hash under which a key is stored."""
    return hashlib.sha256(key.encode()).hexdigest()


class Tenants:
    """The tenants table."""

    def __init__(self, client: "DynamoDBClient", table: str, asker: Asker = BRISKLY) -> None:
        self._client, self._table, self._asker = client, table, asker

    @classmethod
    def open(cls, table: str) -> Self:
        """Open a table with the credentials and the region of the environment."""
        import boto3  # noqa: PLC0415 - slow, and not needed to hash or to name a key

        # A caller waits behind every answer of the authorizer: better no answer soon than one after a minute.
        return cls(boto3.client("dynamodb", config=BRISK.config()), table)

    def create_tenant(self, tenant: str, now: int) -> bool:
        """Create a tenant; False if it is there already. Raises ValueError for an impossible name."""
        if not _TENANT.fullmatch(tenant):
            raise ValueError("A tenant's name has 1 to 64 letters, digits, hyphens and underscores.")
        return self._insert(f"TENANT#{tenant}", "TENANT", {"tenant": {"S": tenant}, "created_at": {"N": str(now)}})

    def create_key(
        self, tenant: str, now: int, random_bytes: Callable[[], bytes], expires_at: int | None = None
    ) -> IssuedKey:
        """Create a key of a tenant from 32 random bytes. Raises ValueError for fewer, or for used ones."""
        secret = random_bytes()
        if len(secret) < 32:
            raise ValueError("A key needs 32 random bytes.")
        key = KEY_PREFIX + secret.hex()
        hashed = hash_of(key)
        issued = IssuedKey(key, f"key_{hashed[:16]}")
        row: dict[str, AttributeValueTypeDef] = {
            "tenant": {"S": tenant},
            "key_id": {"S": issued.key_id},
            "created_at": {"N": str(now)},
        }
        if expires_at is not None:
            row["expires_at"] = {"N": str(expires_at)}
        if not self._insert(f"KEY#{hashed}", "KEY", row):
            raise ValueError("These random bytes made a key before.")
        return issued

    def find_key(self, key: str) -> KeyHolder | None:
        """Return the holder of a key, or None if there is none or it is disabled. Raises if the read fails.

        The read is eventually consistent: a key may be unknown for a second after it was made.
        """
        answer = self._asker.ask(
            lambda: self._client.get_item(
                TableName=self._table,
                Key={TENANTS.partition.name: {"S": f"KEY#{hash_of(key)}"}, TENANTS.sort.name: {"S": "KEY"}},
            )
        )
        row = answer.get("Item")
        if row is None or row.get("disabled", {}).get("BOOL", False):
            return None
        expires_at = row.get("expires_at", {}).get("N")
        return KeyHolder(row["tenant"]["S"], row["key_id"]["S"], None if expires_at is None else int(expires_at))

    def _insert(self, pk: str, sk: str, row: "dict[str, AttributeValueTypeDef]") -> bool:
        keys: dict[str, AttributeValueTypeDef] = {
            TENANTS.partition.name: {"S": pk},
            TENANTS.sort.name: {"S": sk},
            "v": {"N": str(SCHEMA_VERSION)},
        }
        try:
            self._client.put_item(
                TableName=self._table, Item={**keys, **row}, ConditionExpression="attribute_not_exists(pk)"
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True
