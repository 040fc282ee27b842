"""Weights of tenants, read from their rows, only for scans in which tenants compete."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from timeball.aws.dynamodb.collections.tenants import tenant_key
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.domain.model.tenants.quotas import LEAST_WEIGHT
from timeball.domain.time.instants import MINUTE_MS
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_KEPT_MS: Final = MINUTE_MS


class DynamoWeights:
    """The weights in a tenants table, kept for a minute.

    They are advice: if the table cannot be read, all tenants have the same weight, or keep their last one.
    """

    def __init__(self, reader: TableReader, clock: Clock) -> None:
        self._reader, self._clock = reader, clock
        self._known: dict[str, tuple[int, int]] = {}

    def __call__(self, tenants: Sequence[str]) -> Mapping[str, int]:
        """Return the weight of each tenant."""
        now = self._clock.now()
        unknown = [one for one in tenants if self._known.get(one, (0, 0))[0] <= now]
        try:
            rows = self._reader.get([tenant_key(one) for one in unknown], strong=False) if unknown else []
        except UnavailableError as unavailable:
            log.warning("weights not read: %s", unavailable)
        else:
            for tenant, row in zip(unknown, rows, strict=True):
                self._known[tenant] = now + _KEPT_MS, (row or {}).get("weight", LEAST_WEIGHT)
        return {one: self._known.get(one, (0, LEAST_WEIGHT))[1] for one in tenants}
