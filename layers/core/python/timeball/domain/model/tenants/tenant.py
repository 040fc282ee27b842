"""Tenants: the owners of jobs. Their API keys are in key.py."""

import re
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.tenants.quotas import LEAST_WEIGHT, NO_QUOTAS, Quotas

TENANT_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,40}", re.ASCII)
"""The form of a tenant's name: it is part of the ids of its keys, which end at a dot or an underscore."""


@dataclass(frozen=True)
class Tenant:
    """One row. Instants are in ms."""

    name: str
    """Its name."""
    created_at: int
    """When it was created."""
    weight: int = LEAST_WEIGHT
    """Its share where tenants compete for capacity."""
    quotas: Quotas = NO_QUOTAS
    """Its own quotas."""
    disabled_at: int | None = None
    """When it was disabled: it keeps everything, and nothing of it starts; None: it is enabled."""
    deleted_at: int | None = None
    """When it was deleted: the row stays, so that its name is not given away; None: it was not."""
    revision: int = 1
    """Counts the writes of the row."""


def new_tenant(name: str, now: int) -> Tenant:
    """Make a tenant. Raises ValueError for an impossible name."""
    if not TENANT_NAME.fullmatch(name):
        raise ValueError("A tenant's name has 1 to 40 letters, digits and hyphens.")
    return Tenant(name, now)
