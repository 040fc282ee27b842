"""A tenant and an API key, made as an administrator would."""

import secrets
import time

from local.emulator import Emulator
from timeball.aws.tenants import Tenants


def create_key(emulator: Emulator, tenants_table: str, tenant: str) -> str:
    """Create a tenant, unless it is there, and a key of it; return the key, which nothing stores."""
    tenants = Tenants(emulator.client("dynamodb"), tenants_table)
    now = time.time_ns() // 1_000_000
    tenants.create_tenant(tenant, now)
    return tenants.create_key(tenant, now, lambda: secrets.token_bytes(32)).key
