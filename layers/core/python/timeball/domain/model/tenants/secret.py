"""Which secret a tenant may name: one whose own name begins with the stack's prefix and the tenant's.

Invariant: no tenant names another's, for a tenant's name holds no slash.
"""

import re
from typing import Final

SECRET_NAME: Final = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}", re.ASCII)
"""What a name in Secrets Manager looks like."""
SECRET_PREFIX: Final = re.compile(r"([A-Za-z0-9_+=.@-]+/)+", re.ASCII)
"""What all names of secrets that a stack may read begin with."""
LONGEST_PREFIX: Final = 200


def prefix_of(tenant: str, prefix: str) -> str:
    """Return what the names of a tenant's secrets begin with."""
    return f"{prefix}{tenant}/"


def may_name(name: str, tenant: str, prefix: str) -> bool:
    """Say whether a tenant's targets may name a secret."""
    own = prefix_of(tenant, prefix)
    return SECRET_NAME.fullmatch(name) is not None and name.startswith(own) and len(name) > len(own)
