"""A tenant and an API key, written as an administrator would."""

import hashlib
import secrets
import time

from local.emulator import Emulator


def create_key(emulator: Emulator, tenants_table: str, tenant: str) -> str:
    """Create a tenant and a key of it; return the key, which nothing stores."""
    key = f"tb_{secrets.token_urlsafe(32)}"
    digest = hashlib.sha256(key.encode()).hexdigest()
    created_at = {"N": str(time.time_ns() // 1_000_000)}
    version = {"N": "1"}
    rows = (
        {"pk": {"S": f"TENANT#{tenant}"}, "sk": {"S": "TENANT"}, "created_at": created_at, "v": version},
        {
            "pk": {"S": f"KEY#{digest}"},
            "sk": {"S": "KEY"},
            "tenant": {"S": tenant},
            "key_id": {"S": f"key_{digest[:12]}"},
            "created_at": created_at,
            "v": version,
        },
    )
    dynamodb = emulator.client("dynamodb")
    for row in rows:
        dynamodb.put_item(TableName=tenants_table, Item=row)
    return key
