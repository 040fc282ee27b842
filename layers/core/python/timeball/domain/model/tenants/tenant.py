"""Tenants: who owns jobs. Their keys are in key.py."""

import re
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.tenants.quotas import LEAST_WEIGHT, NO_QUOTAS, Quotas

TENANT_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,40}", re.ASCII)
"""What a tenant may be called: it is part of the ids of its keys, which end at a dot or an underscore."""


@dataclass(frozen=True)
class Tenant:
    """Who owns jobs, and has its part by its weight where tenants contend.

    One that is disabled keeps all that it has, and nothing of it starts. One that is deleted keeps its row, so that
    nobody gets its name and what was written under that. `revision` counts the writes of the row.
    """

    name: str
    created_at: int
    weight: int = LEAST_WEIGHT
    quotas: Quotas = NO_QUOTAS
    disabled_at: int | None = None
    deleted_at: int | None = None
    revision: int = 1


def new_tenant(name: str, now: int) -> Tenant:
    """Make a tenant. Raises ValueError for an impossible name."""
    if not TENANT_NAME.fullmatch(name):
        raise ValueError("A tenant's name has 1 to 40 letters, digits and hyphens.")
    return Tenant(name, now)
