"""Data beside the collections of rows, in memory: attempts, works, notes, links, history, days, owners, counts."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Generic, TypeVar

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId, outline
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.terms.policies import Work
from timeball.domain.sharing.submit_budget import Reservation, SubmitBudget, is_refused
from timeball.domain.usage.hours import Counts, HourKey
from timeball.ports.counters import CountWindow
from timeball.ports.due_index import DuePage, DueQuery, Owner, Tick, next_tick
from timeball.ports.notes import ChangesQuery, Former, Noted
from timeball.testing.memory_rows import Locked, Memory

_Name = TypeVar("_Name")


class MemoryAttempts(Locked[RunId, dict[int, Attempt]]):
    """The attempts of each run, by number."""

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:  # noqa: ARG002 - kept for good
        """Store each attempt that is not stored yet."""
        return [self._memory.repeatedly(partial(self._insert, run_id, attempt)) for run_id, attempt in attempts]

    def replace(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:  # noqa: ARG002 - kept for good
        """Store each attempt, in place of an earlier one."""
        with self._memory.lock:
            for run_id, attempt in attempts:
                self.setdefault(run_id, {})[attempt.number] = attempt

    def of_run(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""
        with self._memory.lock:
            return [attempt for _, attempt in sorted(self.get(run, {}).items())]

    def _insert(self, run_id: RunId, attempt: Attempt, _: int) -> Attempt | None:
        standing = self.setdefault(run_id, {}).setdefault(attempt.number, attempt)
        return None if standing == attempt else standing


class MemoryWorks(Locked[tuple[JobKey, str], Work]):
    """The works, by their jobs and names."""

    def save(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:  # noqa: ARG002 - kept for good
        """Store each work under a name derived from it."""
        with self._memory.lock:
            names = [hashlib.blake2b(repr(work).encode(), digest_size=16).hexdigest() for _, work in works]
            self.update({(key, name): work for (key, work), name in zip(works, names, strict=True)})
            return names

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return each work."""
        with self._memory.lock:
            return [self.get(name) for name in names]


class MemoryNotes(dict[_Name, Noted], Generic[_Name, Noted]):
    """The notes of one kind."""

    def note(self, notes: Sequence[tuple[_Name, Noted]], now: int) -> list[Noted]:  # noqa: ARG002 - kept for good
        """Store each note; the first one stands."""
        return [self.setdefault(name, note) for name, note in notes]

    def read(self, names: Sequence[_Name]) -> list[Noted | None]:
        """Return each note."""
        return [self.get(name) for name in names]


class MemoryFormerRows(Locked[_Name, dict[tuple[int, str], Former]], Generic[_Name, Former]):
    """The former rows of one kind, of each owner in their order."""

    def note(self, rows: Sequence[tuple[_Name, Former]], now: int) -> None:  # noqa: ARG002 - kept for good
        """Store each row; the first one stands."""
        with self._memory.lock:
            for owner, row in rows:
                self.setdefault(owner, {}).setdefault(row.order, row)

    def of_owner(self, owner: _Name, limit: int, before: tuple[int, str] | None = None) -> list[Former]:
        """Return an owner's rows, from one backwards."""
        with self._memory.lock:
            own = sorted(self.get(owner, {}).items(), reverse=True)
        return [row for order, row in own if before is None or order < before][:limit]


class MemoryLinks(Locked[tuple[_Name, JobKey], int], Generic[_Name]):
    """The links of one kind, with the time of their last note."""

    def note(self, links: Sequence[tuple[_Name, JobKey]], now: int) -> None:
        """Store each link."""
        with self._memory.lock:
            self.update(dict.fromkeys(links, now))

    def of_owner(self, owner: _Name, after: str = "", limit: int | None = None) -> list[tuple[JobKey, int]]:
        """Return an owner's links."""
        with self._memory.lock:
            own = sorted((job, at) for (one, job), at in self.items() if one == owner and job.job_id > after)
        return own[:limit]

    def children(self, owners: Sequence[_Name]) -> list[list[JobKey]]:
        """Return the jobs of each owner."""
        found: dict[_Name, list[JobKey]] = {owner: [] for owner in owners}
        with self._memory.lock:
            for owner, job in self:
                if owner in found:
                    found[owner].append(job)
        return [sorted(found[owner]) for owner in owners]

    def forget(self, links: Sequence[tuple[_Name, JobKey]], noted_before: int, now: int) -> None:  # noqa: ARG002 - at once
        """Forget each link that is old enough."""
        with self._memory.lock:
            for link in links:
                if self.get(link, noted_before) < noted_before:
                    del self[link]


class MemoryWindows(Locked[CountWindow, int]):
    """The count of each window."""

    def take(self, window: CountWindow, amount: int, most: int) -> bool:
        """Count, if there is room."""
        with self._memory.lock:
            counted = self.get(window, 0) + amount
            if counted > most:
                return False
            self[window] = counted
            return True


class MemorySubmitBudgets(Locked[str, SubmitBudget]):
    """The reservations of each tenant."""

    def reserve(self, reservation: Reservation) -> SubmitBudget | None:
        """Reserve, if there is room."""
        with self._memory.lock:
            standing = self.read(reservation.tenant)
            lacks = reservation.active and (standing.most != reservation.active or standing.left < reservation.amount)
            if lacks or is_refused(standing, reservation):
                return standing
            self[reservation.tenant] = _counted(standing, reservation, 1)
            return None

    def release(self, reservation: Reservation) -> None:
        """Release."""
        with self._memory.lock:
            self[reservation.tenant] = _counted(self.read(reservation.tenant), reservation, -1)

    def reckon(self, before: SubmitBudget, after: SubmitBudget) -> bool:
        """Store what is left, unless that has changed."""
        with self._memory.lock:
            standing = self.read(before.tenant)
            if (standing.left, standing.counted_at) != (before.left, before.counted_at):
                return False
            self[before.tenant] = evolve(after, taken=standing.taken, beside=standing.beside)
            return True

    def read(self, tenant: str) -> SubmitBudget:
        """Return the reservations."""
        return self.get(tenant, SubmitBudget(tenant))


def _counted(budget: SubmitBudget, reservation: Reservation, sign: int) -> SubmitBudget:
    amount = sign * reservation.amount
    taken = {**budget.taken, reservation.second: budget.taken.get(reservation.second, 0) + amount}
    if reservation.active:
        return evolve(budget, taken=taken, left=budget.left - amount)
    beside = {**budget.beside, reservation.second: budget.beside.get(reservation.second, 0) + amount}
    return evolve(budget, taken=taken, beside=beside)


class MemoryChanges:
    """The former revisions of jobs, with their payloads, and the announcements."""

    def __init__(self, memory: Memory) -> None:
        self.revisions: dict[RevisionId, Revision] = {}
        self.announcements: set[Announcement] = set()
        self._memory = memory

    def note(self, notes: Sequence[Revision | Announcement], now: int) -> None:  # noqa: ARG002 - kept for good
        """Store each note."""
        with self._memory.lock:
            for note in notes:
                if isinstance(note, Revision):
                    self.revisions.setdefault(note.id, note)
                else:
                    self.announcements.add(note)

    def read(self, ids: Sequence[RevisionId], *, whole: bool = False) -> list[Revision | None]:
        """Return each revision."""
        with self._memory.lock:
            kept = [self.revisions.get(one) for one in ids]
        return kept if whole else [one and outline(one) for one in kept]

    def of_job(self, newest: RevisionId, limit: int) -> list[Revision]:
        """Return a job's revisions, from one backwards."""
        older = [evolve(newest, version=version) for version in range(newest.version, 0, -1)]
        return [one for one in self.read(older) if one is not None][:limit]

    def announced(self, query: ChangesQuery) -> list[Announcement]:
        """Return announcements, the newest first."""
        with self._memory.lock:
            found = sorted(self.announcements, reverse=True)
        return [
            one
            for one in found
            if one.job.tenant == query.tenant
            and query.job in (None, one.job)
            and query.from_at <= one.at <= query.to_at
            and (query.after is None or one < query.after)
        ][: query.limit]


class MemoryUsage(Locked[HourKey, Counter[str]]):
    """The counts of each hour."""

    def add(self, sums: Sequence[tuple[HourKey, Counts]], now: int) -> list[bool]:  # noqa: ARG002 - kept for good
        """Add to the counts of each hour."""
        with self._memory.lock:
            for key, counts in sums:
                self.setdefault(key, Counter()).update(counts)
        return [True] * len(sums)

    def between(self, tenant: str, first_at: int, last_at: int) -> list[tuple[HourKey, Counts]]:
        """Return the counts of the hours that began between two instants."""
        with self._memory.lock:
            own = [(key, Counter(counts)) for key, counts in sorted(self.items()) if key.tenant == tenant]
        return [(key, counts) for key, counts in own if first_at <= key.began_at <= last_at]


class MemoryPartitions(Locked[int, Tick]):
    """The last tick of each partition."""

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        """Give the partition to the newest owner that ticks."""
        with self._memory.lock:
            tick = next_tick(self.get(partition), owner, now)
            if tick is not None:
                self[partition] = tick
            return tick is not None

    def last_tick(self, partition: int) -> int | None:
        """Return the instant of the last tick."""
        with self._memory.lock:
            tick = self.get(partition)
            return None if tick is None else tick.at


class MemoryDueIndex:
    """The due index, its shards' oldest days, and the greatest number of shards."""

    def __init__(self, memory: Memory) -> None:
        self.oldest_days: dict[int, int] = {}
        self.shards = 0
        self._memory = memory

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Return the entries as they stand."""
        with self._memory.lock:
            return [self._memory.buckets.page(query) for query in queries]

    def ahead(self, shard: int, first_at: int, last_at: int, most: int) -> list[int]:
        """Return the due instants of entries between two instants."""
        with self._memory.lock:
            entries = self._memory.buckets.entries.values()
            due = sorted(at for of, _, at in entries if of == shard and first_at <= at <= last_at)
        return due[:most]

    def read_oldest_days(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the oldest days that are known."""
        with self._memory.lock:
            return {shard: self.oldest_days[shard] for shard in shards if shard in self.oldest_days}

    def move_oldest_day(self, shard: int, oldest_day_at: int) -> None:
        """Raise the oldest day."""
        with self._memory.lock:
            self.oldest_days[shard] = max(self.oldest_days.get(shard, 0), oldest_day_at)

    def most_shards(self, shards: int) -> int:
        """Store the greatest number of shards."""
        with self._memory.lock:
            self.shards = max(self.shards, shards)
            return self.shards
