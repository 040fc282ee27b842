"""List the runs of a tenant, of all jobs or of one, by their ends or by their fire times.

Notable runs are in an index. Plain runs are in the ledgers of their jobs alone: a list with runs that have succeeded
merges these ledgers by time with the index. A plain run ends within seconds of its fire time, so the ledgers' order is
nearly the order of ends: a run is shown once no ledger can still bring an earlier one.

A page reads as much as BUDGET allows. If a tenant has more jobs than GROUP, a list with plain runs takes the jobs in
groups, the newest jobs first: each group is in order, and a page has runs of one group. The index is merged with the
first group. A list by fire time reads the index alone, or the ledgers alone.

Invariant: a row has one position, and is in one group. So a run is listed once; a run that ends while its list is paged
may be missing from the later pages.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.notable import PLAIN_MS, is_notable
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.runs.notable_runs import (
    Position,
    RunFilter,
    Span,
    among,
    jobs_within,
    notable_runs,
    position_of,
)
from timeball.ports.collections import LedgerQuery
from timeball.ports.rows import ListQuery

GROUP = 100
"""How many jobs' ledgers a page merges."""
BUDGET = 150
"""The read units after which a page reads no more ledgers."""
MOST_BY_FIRE = 1_500
"""The most notable runs that a list by fire time may have: they are read whole and then sorted."""
_EXAMINED = 300
"""The most notable runs that a page examines."""
_FIRST, _MORE = 4, 20
"""How many rows of a ledger are read first, and then at once."""
_REFILLED = 8
"""How many ledgers are read further together."""
_ROWS_OF_A_READ = 4
"""How many rows half a read unit returns at least."""
_INDEXED = 50
"""How many runs of the index are read at once."""
_LIVE_MS = 30 * SECOND_MS
"""How long after its fire time a plain run may still be live: it is notable before that."""
_EARLY_MS = SECOND_MS
"""How long before its fire time a run may end."""
_LAG_MS = 2 * SECOND_MS
"""How long an index may have a run where it was before it ended."""

Bound = tuple[Any, ...]
"""A position, or its first two parts, which stand before every position that begins with them."""

Listed = tuple[int, JobKey]
"""The position of a job in the listing: its creation, and its id."""


class TooManyError(Exception):
    """There are more than 1,500 such runs: they cannot be sorted by their fire times."""


@dataclass(frozen=True)
class RunsQuery:
    """A list of runs. Instants are in ms, both included, and about what the list is sorted by."""

    where: RunFilter
    from_at: int
    to_at: int = LATEST
    by_fire: bool = False
    oldest_first: bool = False

    @property
    def has_plain(self) -> bool:
        """Whether plain runs may match, which only the ledgers have."""
        return not self.where.states or RunState.SUCCEEDED in self.where.states

    def position(self, run: Run) -> Position:
        """Return the position of a run."""
        return (False, run.id.fire_at, run.id) if self.by_fire else position_of(run)

    def has(self, run: Run) -> bool:
        """Return whether a run is within the instants."""
        return self.from_at <= self.position(run)[1] <= self.to_at

    def is_through(self, one: Bound, other: Bound) -> bool:
        """Return whether a position comes before another, or is the same."""
        return one <= other if self.oldest_first else one >= other

    def first_of(self, bounds: Iterable[Bound]) -> Bound | None:
        """Return the position that comes first in the list; None if there is none."""
        return min(bounds, default=None) if self.oldest_first else max(bounds, default=None)


@dataclass(frozen=True)
class RunsCursor:
    """Where a list continues: after a run, within the jobs of a group."""

    began_at: int
    """When the first page was read (ms)."""
    after: Position | None = None
    """The position of the last run; None: the beginning of the group."""
    behind: Listed | None = None
    """The job before the group; None: the group begins with the newest job."""
    through: Listed | None = None
    """The last job of the group; None: as many as GROUP."""


@dataclass(frozen=True)
class RunsPage:
    """A page of runs, the cursor after each of them, and the cursor that continues after the page, if any."""

    runs: tuple[Run, ...]
    cursors: tuple[RunsCursor, ...]
    following: RunsCursor | None


def list_runs(context: Context, asked: RunsQuery, limit: int, start: RunsCursor | None = None) -> RunsPage:
    """Return a page of runs. Raises UnavailableError, and TooManyError."""
    start = start or RunsCursor(context.clock.now())
    if asked.has_plain:
        return _merged(context, asked, limit, start)
    found = _sorted_by_fire(context, asked) if asked.by_fire else _by_end(context, asked, limit, start)
    return _page(asked, found, limit, start)


@dataclass
class _Found:
    """Runs that were found; those up to `through` are complete. None: all are."""

    runs: Sequence[Run]
    through: Bound | None = None


def _page(asked: RunsQuery, found: _Found, limit: int, start: RunsCursor) -> RunsPage:
    """Return the first complete runs after the cursor."""
    runs = _complete(asked, found, start)
    shown = runs[:limit]
    cursors = tuple(replace(start, after=asked.position(run)) for run in shown)
    if len(runs) > limit:
        return RunsPage(tuple(shown), cursors, cursors[-1])
    if found.through is None:
        return RunsPage(tuple(shown), cursors, None)
    return RunsPage(tuple(shown), cursors, replace(start, after=_whole(asked, found.through, start)))


def _complete(asked: RunsQuery, found: _Found, start: RunsCursor) -> list[Run]:
    """Return the runs after the cursor that no run can precede any more, in order."""
    after, through = start.after, found.through
    newest = {run.id: run for run in sorted(found.runs, key=lambda run: run.revision)}
    runs = [
        run
        for run in newest.values()
        if (after is None or not asked.is_through(asked.position(run), after))
        and (through is None or asked.is_through(asked.position(run), through))
    ]
    return sorted(runs, key=asked.position, reverse=not asked.oldest_first)


def _whole(asked: RunsQuery, bound: Bound, start: RunsCursor) -> Position:
    """Return a position for a bound without a run: that of an id before all others.

    Where live runs were listed, it leaves out those that have ended since.
    """
    is_live, at, *run = bound
    if not is_live and not run:
        at = min(at, _span(asked, start).ended_by + 1)
    return is_live, at, *(run or [RunId(JobKey(asked.where.tenant, "-"), 0, Origin.BACKFILL, "0")])


def _span(asked: RunsQuery, start: RunsCursor) -> Span:
    """Return the part of the index for a page. Where live runs come first, those that ended since are left out."""
    if asked.oldest_first:
        return Span(asked.from_at, asked.to_at, oldest_first=True)
    shows_live = start.after is not None and start.after[0]
    return Span(asked.from_at, asked.to_at, start.began_at - _LAG_MS if shows_live else start.began_at)


def _by_end(context: Context, asked: RunsQuery, limit: int, start: RunsCursor) -> _Found:
    """Return one run more than the page has, if there are so many among those that it may examine."""
    found: list[Run] = []
    examined = 0
    for page in notable_runs(context, asked.where, limit + 1, _span(asked, start), start.after):
        found += among(context, asked.where, page)
        examined += len(page)
        if len(found) > limit or examined >= _EXAMINED:
            return _Found(found, position_of(page[-1]))
    return _Found(found)


def _sorted_by_fire(context: Context, asked: RunsQuery) -> _Found:
    """Return all notable runs of the fire times. A run ends after its fire time, so older ends are not read."""
    found: list[Run] = []
    examined = 0
    for page in notable_runs(context, asked.where, MOST_BY_FIRE // 3, Span(max(asked.from_at - _EARLY_MS, 0))):
        examined += len(page)
        if examined > MOST_BY_FIRE:
            raise TooManyError
        found += among(context, asked.where, [run for run in page if asked.has(run)])
    return _Found(found)


@dataclass
class _Ledger:
    """A ledger that is being read: the query that continues it, and the last fire time; None: it was read whole."""

    query: LedgerQuery
    fire_at: int | None = LATEST


def _merged(context: Context, asked: RunsQuery, limit: int, start: RunsCursor) -> RunsPage:
    """Return a page of the runs of a group of jobs, merged with the index for the first group."""
    listed, has_more = _group(context, asked, start)
    last = listed[-1] if listed else None
    start = replace(start, through=last)
    within = jobs_within(context, asked.where, [key for _, key in listed])
    merge = _Merge(context, asked, start, [key for _, key in listed if key in within])
    page = _page(asked, merge.read(limit), limit, start)
    if page.following is None:
        following = RunsCursor(start.began_at, behind=last) if has_more else None
    elif page.runs:
        following = page.cursors[-1]
    elif _goes_on(asked, start.after, page.following.after):
        following = page.following
    else:
        following = replace(start, through=listed[(len(listed) - 1) // 2])
    return replace(page, following=following)


def _goes_on(asked: RunsQuery, after: Bound | None, through: Bound | None) -> bool:
    """Return whether the next page of the same group begins later than this one."""
    return after is None or (through is not None and through != after and asked.is_through(after, through))


def _group(context: Context, asked: RunsQuery, start: RunsCursor) -> tuple[list[Listed], bool]:
    """Return the jobs of a group, and whether jobs follow. Any job may have run at any time, in a backfill."""
    if asked.where.job is not None:
        return [(0, asked.where.job)], False
    jobs = context.store.jobs.listed([], ListQuery(asked.where.tenant, GROUP + 1, after=start.behind))
    group = [one for one in jobs[:GROUP] if start.through is None or one >= start.through]
    return group, len(jobs) > len(group)


class _Merge:
    """The ledgers of a group of jobs, and the index for the first group, read as far as a page needs."""

    def __init__(self, context: Context, asked: RunsQuery, start: RunsCursor, jobs: Sequence[JobKey]) -> None:
        self._context, self._asked, self._start = context, asked, start
        self._now = context.clock.now()
        self._runs: dict[RunId, Run] = {}
        self._spent = len(jobs) / 2 if asked.where.needs_jobs else 0.0
        first_at, last_at = _fires(asked, start)
        queries = [
            LedgerQuery(job, _FIRST, first_at, last_at, oldest_first=asked.oldest_first, strong=False) for job in jobs
        ]
        self._ledgers = [_Ledger(query) for query in queries if first_at <= last_at]
        self._index: Iterator[list[Run]] | None = None
        self._index_through: Bound = (False, 0) if asked.oldest_first else (True, LATEST)
        span = _span(asked, start)
        self._ended_by = LATEST if asked.by_fire else span.ended_by
        if not asked.by_fire and start.behind is None:
            self._index = notable_runs(context, asked.where, _INDEXED, span, start.after)

    def read(self, limit: int) -> _Found:
        """Read until the page is complete, or the budget is spent; with one job alone, until the page goes on."""
        self._read_ledgers(self._ledgers)
        self._read_index()
        while (through := self._through()) is not None:
            found = _Found(list(self._runs.values()), through)
            complete = len(_complete(self._asked, found, self._start))
            is_enough = complete > 0 or len(self._ledgers) > 1 or _goes_on(self._asked, self._start.after, through)
            if complete > limit or (self._spent >= BUDGET and is_enough):
                return found
            self._read_on(through)
        return _Found(list(self._runs.values()))

    def _through(self) -> Bound | None:
        bounds = [_bound(self._asked, one.fire_at, self._now) for one in self._ledgers if one.fire_at is not None]
        return self._asked.first_of([*bounds, *([] if self._index is None else [self._index_through])])

    def _read_on(self, through: Bound) -> None:
        """Read on where it is that later runs may still precede others."""
        if self._index is not None and self._index_through == through:
            self._read_index()
            return
        unread = [one for one in self._ledgers if one.fire_at is not None]
        unread.sort(key=lambda one: one.fire_at or 0, reverse=not self._asked.oldest_first)
        self._read_ledgers(unread[:_REFILLED])

    def _read_ledgers(self, ledgers: Sequence[_Ledger]) -> None:
        pages = self._context.store.runs.ledgers([one.query for one in ledgers])
        for ledger, page in zip(ledgers, pages, strict=True):
            self._spent += (len(page.runs) // _ROWS_OF_A_READ + 1) / 2
            self._runs |= {run.id: run for run in page.runs if self._is_asked(run)}
            ledger.fire_at = None if page.next_before is None else page.next_before.fire_at
            ledger.query = replace(ledger.query, limit=_MORE, before=page.next_before)

    def _is_asked(self, run: Run) -> bool:
        is_of_index = not self._asked.by_fire and is_notable(run)
        was_live = run.is_terminal and self._asked.position(run)[1] > self._ended_by
        return not (is_of_index or was_live) and self._asked.where.matches(run) and self._asked.has(run)

    def _read_index(self) -> None:
        if self._index is None:
            return
        page = next(self._index, None)
        if page is None:
            self._index = None
            return
        self._spent += 2 * len(self._asked.where.states or RunState) + len(page) / _ROWS_OF_A_READ
        self._index_through = position_of(page[-1])
        for run in among(self._context, self._asked.where, page):
            self._runs.setdefault(run.id, run)


def _fires(asked: RunsQuery, start: RunsCursor) -> tuple[int, int]:
    """Return between which fire times the ledgers may have runs for the page (ms, both included)."""
    early_ms, late_ms = (0, 0) if asked.by_fire else (_EARLY_MS, PLAIN_MS)
    first_at, last_at = max(asked.from_at - late_ms, 0), min(asked.to_at + early_ms, LATEST)
    if start.after is None:
        return first_at, last_at
    is_live, at, _ = start.after
    if asked.oldest_first:
        return max(first_at, (start.began_at - _LIVE_MS if is_live else at) - late_ms), last_at
    return first_at, last_at if is_live else min(last_at, at + early_ms)


def _bound(asked: RunsQuery, fire_at: int, now: int) -> Bound:
    """Return how far a list is complete if a ledger was read up to a fire time."""
    if asked.by_fire:
        return False, fire_at if asked.oldest_first else fire_at + 1
    if asked.oldest_first:
        return False, fire_at - _EARLY_MS
    return fire_at > now - _LIVE_MS, fire_at + PLAIN_MS + 1
