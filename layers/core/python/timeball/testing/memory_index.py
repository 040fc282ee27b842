"""The due index in memory: what waits for a time, by shard and by the UTC day of that time, or of its writing."""

from bisect import bisect_right

from timeball.domain.model.ids import JobKey, LimiterKey, OperationKey, RunId
from timeball.domain.time.instants import DAY_MS
from timeball.ports.registers.due_index import DuePage, DueQuery, Owned, Place, tenant_of


class Buckets:
    """Its `entries` are (shard, day, due instant in ms) by what waits."""

    def __init__(self) -> None:
        self.entries: dict[Owned, tuple[int, int, int]] = {}
        self._buckets: dict[tuple[int, int], dict[Owned, tuple[int, str, Owned]]] = {}

    def put(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Let a row wait for an instant, and for none that it waited for before; with None it waits no more."""
        if key in self.entries:
            old_shard, day, _ = self.entries.pop(key)
            del self._buckets[old_shard, day][key]
        if due_at is not None:
            day = max(due_at, now) // DAY_MS
            self.entries[key] = (shard, day, due_at)
            self._buckets.setdefault((shard, day), {})[key] = (due_at, _name(key), key)

    def page(self, query: DueQuery) -> DuePage:
        """Return what is due, in the order of instants, and of names within one."""
        entries = self._buckets.get((query.shard, query.day_at // DAY_MS), {})
        ready = sorted(entry for entry in entries.values() if entry[0] <= query.through_at)
        start = 0 if query.after is None else bisect_right(ready, _order(query.after), key=lambda entry: entry[:2])
        examined = ready[start : start + query.limit]
        stopped = Place(examined[-1][0], examined[-1][2]) if len(examined) == query.limit else None
        return DuePage(tuple(key for *_, key in examined if tenant_of(key) not in query.left_out), stopped)


def _order(place: Place) -> tuple[int, str]:
    return place.due_at, _name(place.owned)


def _name(owned: Owned) -> str:
    if isinstance(owned, JobKey):
        return f"{owned.tenant}#{owned.job_id}"
    if isinstance(owned, OperationKey):
        return f"{owned.tenant}#!!!{owned.name}"
    if isinstance(owned, LimiterKey):
        return f"{owned.tenant}#!${owned.name}"
    return f"{owned.job.tenant}#{owned if isinstance(owned, RunId) else f'{owned.job.job_id}/{owned.name}'}"
