"""The slots of tenants: one row for each tenant that ever had a backfill, which names those that run and are next."""

from collections.abc import Sequence
from typing import Any

from timeball.aws.keys import slots_key
from timeball.aws.queries import Reader
from timeball.aws.rows import Item
from timeball.aws.schema import SCHEMA_VERSION
from timeball.aws.writes import Insert, Update, Write, Writer
from timeball.domain.ids import BackfillKey, JobKey
from timeball.domain.slots import Slots
from timeball.ports import Swap, Swapped


class TenantSlots:
    """The rows of slots of one table. They never expire: a backfill may take years."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer, self._reader = writer, reader

    def read(self, tenants: Sequence[str]) -> list[Slots]:
        """Return each tenant's slots."""
        rows = self._reader.get([slots_key(tenant) for tenant in tenants])
        return [_to_slots(tenant, row) if row else Slots(tenant) for tenant, row in zip(tenants, rows, strict=True)]

    def swap(self, swaps: Sequence[Swap[Slots]]) -> list[Swapped[Slots]]:
        """Change each tenant's row if it has the revision that was read; insert it if it had none."""
        answers: list[Swapped[Slots]] = []
        for swap, written in zip(swaps, self._writer.write([_write(swap) for swap in swaps]), strict=True):
            standing = _to_slots(swap.before.tenant, written.row) if written.row else None
            done = written.done or standing == swap.after
            answers.append(Swapped(done, swap.after if done else standing))
        return answers


def _write(swap: Swap[Slots]) -> Write:
    key, after = slots_key(swap.before.tenant), swap.after
    fields: Item = {
        "v": SCHEMA_VERSION,
        "held": _text(after.held),
        "line": _text(after.line),
        "revision": after.revision,
    }
    if swap.before.revision == 0:
        return Insert({**key, **fields})
    return Update(key, {"revision": [swap.before.revision]}, fields)


def _text(keys: Sequence[BackfillKey]) -> str:
    return " ".join(f"{key.job.job_id}.{key.name}" for key in keys)


def _to_slots(tenant: str, row: dict[str, Any]) -> Slots:
    return Slots(tenant, _keys(tenant, row["held"]), _keys(tenant, row["line"]), row["revision"])


def _keys(tenant: str, text: str) -> tuple[BackfillKey, ...]:
    parts = [part.split(".") for part in text.split()]
    return tuple(BackfillKey(JobKey(tenant, job_id), name) for job_id, name in parts)
