"""The roster of a tenant's jobs: what lists look for and are sorted by, as of some seconds ago.

A list that is searched or sorted must know all jobs. If these are more than a request may read, the roster nominates
jobs, and their rows decide. A roster is a digest (engine/kept_digests.py): a page of jobs costs half a read unit a job,
for its row. When jobs last finished costs as much, for their newest runs, and is a digest of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.run_ends.recent import recent_of
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.kept_digests import DigestType, KeptDigests, ListedAt, kept_under
from timeball.engine.scheduling.list_jobs import JobFacts, facts_of
from timeball.engine.scheduling.upcoming import MOST_JOBS
from timeball.ports.rows import ListQuery

MOST_LISTED = 20_000
"""How many jobs a roster may have: some 15 MB."""
_ROWS = 5
"""How many rows of a ledger are read: as many as fit half a read unit."""
_MOST_KEPT = 24
"""How many rosters a process keeps: those that were read last."""

_MOST_NEW = 200
"""How many jobs that were created after a roster was begun join it: the newest."""
_LAG_MS = 5 * SECOND_MS
"""How late the listing may name a job."""
_OLDEST_MS = 5 * MINUTE_MS
"""How old a roster may be that is used while the next one is made."""

NextOf = Callable[[Sequence[Job]], Mapping[JobKey, int | None]]
"""Returns when each job starts next (ms); None: never."""


@dataclass(frozen=True)
class Roster:
    """The jobs of a tenant. Instants are in ms."""

    at: int
    """When its first page was read."""
    is_cut: bool = False
    """Whether the tenant has too many jobs: then it has none of them."""
    jobs: Mapping[JobKey, JobFacts] = field(default_factory=dict)
    """The jobs."""
    next_at: Mapping[JobKey, int | None] = field(default_factory=dict)
    """When each job starts next."""


@dataclass(frozen=True)
class LastEnds:
    """When the jobs of a tenant last finished a run. Instants are in ms."""

    at: int
    """When its first page was read."""
    finished_at: Mapping[JobKey, int | None] = field(default_factory=dict)
    """The end of the last run among the newest ones of each job; None: none has ended."""


def is_known(context: Context, tenant: str, *, is_open: bool) -> bool:
    """Return whether this process has a roster."""
    kept = context.known.rosters.get(("jobs", tenant, is_open))
    whole = None if kept is None else _usable(kept.whole, context.clock.now())
    return whole is not None and not whole.is_cut


def read_roster(context: Context, tenant: str, next_of: NextOf, *, is_open: bool) -> Roster | None:
    """Return the newest roster of a tenant's jobs, or of the open ones; None: it is being made.

    Jobs that were created since it was begun have joined it. Raises UnavailableError.
    """

    def begin() -> Roster:
        counted = context.store.jobs.count(tenant)
        jobs = counted.parts[Among.OPEN] if is_open else counted.in_all
        return Roster(context.clock.now(), is_cut=jobs.count > MOST_LISTED)

    def add_page(made: Roster, after: ListedAt | None) -> tuple[Roster, ListedAt | None]:
        if made.is_cut:
            return made, None
        keys, last = _page(context, tenant, after, is_open=is_open)
        return _with_jobs(context, made, keys, next_of), last

    kept: KeptDigests[Roster] = kept_under(context.known.rosters, ("jobs", tenant, is_open), _MOST_KEPT)
    now = context.clock.now()
    found = _usable(kept.read_on(now, begin, add_page), now)
    if found is None or found.is_cut:
        return found
    query = ListQuery[JobKey](tenant, _MOST_NEW, from_at=found.at - _LAG_MS)
    listed = context.store.jobs.listed([Among.OPEN] if is_open else [], query)
    return _with_jobs(context, found, [key for _, key in listed if key not in found.jobs], next_of)


def _with_jobs(context: Context, before: Roster, keys: Sequence[JobKey], next_of: NextOf) -> Roster:
    """Return a roster with more jobs."""
    jobs = [job for job in context.store.jobs.read(keys, strong=False) if job is not None] if keys else []
    if not jobs:
        return before
    facts = {**before.jobs, **{job.key: facts_of(job) for job in jobs}}
    return replace(before, jobs=facts, next_at={**before.next_at, **next_of(jobs)})


def read_last_ends(context: Context, tenant: str, *, is_open: bool) -> LastEnds | None:
    """Return when each job last finished, as of some seconds ago; None: it is being read. Raises UnavailableError."""

    def add_page(made: LastEnds, after: ListedAt | None) -> tuple[LastEnds, ListedAt | None]:
        keys, last = _page(context, tenant, after, is_open=is_open)
        ledgers = context.store.runs.newest(keys, _ROWS, context.clock.now())
        ends = {key: recent_of(rows).finished_at for key, rows in zip(keys, ledgers, strict=True)}
        return replace(made, finished_at={**made.finished_at, **ends}), last

    now = context.clock.now()
    kept: KeptDigests[LastEnds] = kept_under(context.known.rosters, ("ends", tenant, is_open), _MOST_KEPT)
    return _usable(kept.read_on(now, lambda: LastEnds(now), add_page), now)


def _usable(found: DigestType | None, now: int) -> DigestType | None:
    """Return a digest that was found, unless it is too old: the next one is soon complete."""
    return None if found is None or found.at < now - _OLDEST_MS else found


def _page(
    context: Context, tenant: str, after: ListedAt | None, *, is_open: bool
) -> tuple[list[JobKey], ListedAt | None]:
    """Return the next jobs, and the last of them if more follow."""
    listed = context.store.jobs.listed([Among.OPEN] if is_open else [], ListQuery(tenant, MOST_JOBS, after=after))
    return [key for _, key in listed], listed[-1] if len(listed) == MOST_JOBS else None
