"""The secrets that a tenant may name: their names begin with the stack's prefix and the tenant's name.

Invariant: no tenant can name another tenant's secret, for a tenant's name holds no slash.
"""

import re
from typing import Final

SECRET_NAME: Final = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}", re.ASCII)
"""The form of a name in Secrets Manager."""
SECRET_PREFIX: Final = re.compile(r"([A-Za-z0-9_+=.@-]+/)+", re.ASCII)
"""The form of the prefix that all secrets share which a stack may read."""
LONGEST_PREFIX: Final = 200


def prefix_of(tenant: str, prefix: str) -> str:
    """Return the prefix of the names of a tenant's secrets."""
    return f"{prefix}{tenant}/"


def may_name(name: str, tenant: str, prefix: str) -> bool:
    """Say whether a tenant's targets may name a secret."""
    own = prefix_of(tenant, prefix)
    return SECRET_NAME.fullmatch(name) is not None and name.startswith(own) and len(name) > len(own)
