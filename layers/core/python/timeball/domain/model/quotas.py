"""What a tenant may take: its weight where tenants contend, and quotas of its own. The settings have all others'."""

from typing import Final

LEAST_WEIGHT: Final = 1
GREATEST_WEIGHT: Final = 100
"""Whoever has the least has a turn within a chunk of a scan."""
