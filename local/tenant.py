"""A tenant and an API key, made as an administrator would."""

import secrets
import time

from local.emulator import Emulator
from timeball.aws.dynamodb.tenants import DynamoTenants
from timeball.domain.model.tenant import issue_key, new_tenant


def create_key(emulator: Emulator, tenants_table: str, tenant: str) -> str:
    """Create a tenant, unless it is there, and a key of it; return the key, which nothing stores."""
    tenants = DynamoTenants(emulator.client("dynamodb"), tenants_table)
    now = time.time_ns() // 1_000_000
    tenants.create_tenant(new_tenant(tenant, now))
    issued = issue_key(tenant, secrets.token_bytes(32), now)
    tenants.create_key(issued.hashed, issued.holder)
    return issued.key
