"""The due index in memory: what waits for a time, by shard and by the UTC day of that time, or of its writing."""

from operator import itemgetter

from timeball.domain.time.instants import DAY_MS
from timeball.ports.due_index import DuePage, DueQuery, Owned


class Buckets:
    """Its `entries` are (shard, day, due instant in ms) by what waits."""

    def __init__(self) -> None:
        self.entries: dict[Owned, tuple[int, int, int]] = {}
        self._buckets: dict[tuple[int, int], dict[Owned, int]] = {}

    def put(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Let a row wait for an instant, and for none that it waited for before; with None it waits no more."""
        if key in self.entries:
            old_shard, day, _ = self.entries.pop(key)
            del self._buckets[old_shard, day][key]
        if due_at is not None:
            day = max(due_at, now) // DAY_MS
            self.entries[key] = (shard, day, due_at)
            self._buckets.setdefault((shard, day), {})[key] = due_at

    def page(self, query: DueQuery) -> DuePage:
        """Return what is due, from the end that is asked for."""
        entries = self._buckets.get((query.shard, query.day_at // DAY_MS), {})
        ready = [(due_at, key) for key, due_at in entries.items() if due_at <= query.through_at]
        ready.sort(key=itemgetter(0), reverse=query.latest_first)
        return DuePage(tuple(key for _, key in ready[: query.limit]), len(ready) >= query.limit)
