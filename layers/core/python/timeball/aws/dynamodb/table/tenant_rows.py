"""Rows that each tenant has once, identified by the key alone: its backfill slots, and its event patterns."""

from typing import Any

from timeball.aws.dynamodb.table.codec import Item, from_item, to_item
from timeball.aws.dynamodb.table.keys import patterns_key, slots_key
from timeball.aws.dynamodb.table.schema import SCHEMA_VERSION
from timeball.domain.backfills.slots import BackfillSlots
from timeball.domain.sharing.patterns import Patterns


def of_slots(slots: BackfillSlots, _: int) -> Item:
    """Return a tenant's slots as a row. It never expires: a backfill may take years."""
    return {**slots_key(slots.tenant), "v": SCHEMA_VERSION, **to_item(slots, "tenant")}


def to_slots(row: dict[str, Any]) -> BackfillSlots:
    """Return the slots that a row holds."""
    return from_item(BackfillSlots, row, tenant=row["pk"].removesuffix("#!"))


def of_patterns(patterns: Patterns, _: int) -> Item:
    """Return a tenant's patterns as a row. It never expires: a job may keep its pattern for years."""
    return {**patterns_key(patterns.tenant), "v": SCHEMA_VERSION, **to_item(patterns, "tenant")}


def to_patterns(row: dict[str, Any]) -> Patterns:
    """Return the patterns that a row holds."""
    return from_item(Patterns, row, tenant=row["pk"].removesuffix("#!"))
