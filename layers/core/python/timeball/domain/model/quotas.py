"""What a tenant may take: its weight where tenants contend, and quotas of its own. The settings have all others'."""

from dataclasses import dataclass
from typing import Final

LEAST_WEIGHT: Final = 1
GREATEST_WEIGHT: Final = 100
"""Whoever has the least has a turn within a chunk of a scan."""


@dataclass(frozen=True)
class Quotas:
    """The quotas that a tenant has of its own; None: those of the settings. 0: no bound."""

    submits_per_second: int | None = None


NO_QUOTAS: Final = Quotas()
