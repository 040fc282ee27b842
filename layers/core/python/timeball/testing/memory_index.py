"""The due index in memory: entries by shard and by the UTC day of their due time, or of their writing."""

from bisect import bisect_right

from timeball.domain.model.ids import JobKey, LimiterKey, OperationKey, RunId
from timeball.domain.time.instants import DAY_MS
from timeball.ports.registers.due_index import DueCursor, DuePage, DueQuery, Owned, tenant_of


class Buckets:
    """The buckets of the due index; `entries` holds (shard, day, due instant in ms) by owner."""

    def __init__(self) -> None:
        self.entries: dict[Owned, tuple[int, int, int]] = {}
        self._buckets: dict[tuple[int, int], dict[Owned, tuple[int, str, Owned]]] = {}

    def put(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Set the instant for which a row waits, in place of an earlier one; None removes the row."""
        if key in self.entries:
            old_shard, day, _ = self.entries.pop(key)
            del self._buckets[old_shard, day][key]
        if due_at is not None:
            day = max(due_at, now) // DAY_MS
            self.entries[key] = (shard, day, due_at)
            self._buckets.setdefault((shard, day), {})[key] = (due_at, _name(key), key)

    def page(self, query: DueQuery) -> DuePage:
        """Return the due entries, ordered by instant and then by name."""
        entries = self._buckets.get((query.shard, query.day_at // DAY_MS), {})
        ready = sorted(entry for entry in entries.values() if entry[0] <= query.through_at)
        start = 0 if query.after is None else bisect_right(ready, _order(query.after), key=lambda entry: entry[:2])
        examined = ready[start : start + query.limit]
        stopped = DueCursor(examined[-1][0], examined[-1][2]) if len(examined) == query.limit else None
        return DuePage(tuple(key for *_, key in examined if tenant_of(key) not in query.left_out), stopped)


def _order(cursor: DueCursor) -> tuple[int, str]:
    return cursor.due_at, _name(cursor.owned)


def _name(owned: Owned) -> str:
    if isinstance(owned, JobKey):
        return f"{owned.tenant}#{owned.job_id}"
    if isinstance(owned, OperationKey):
        return f"{owned.tenant}#!!!{owned.name}"
    if isinstance(owned, LimiterKey):
        return f"{owned.tenant}#!${owned.name}"
    return f"{owned.job.tenant}#{owned if isinstance(owned, RunId) else f'{owned.job.job_id}/{owned.name}'}"
