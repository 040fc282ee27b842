"""A store that keeps a history of all writes, and whose indexes and listing lag.

The history tells a checker which process did what, and when. In some stories an eventually consistent read is old, the
index of lines lags too, and paged reads always have more than one page.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from tests.simulation.world.history import History, Write
from tests.simulation.world.process import acting_name
from timeball.domain.backfill import Backfill
from timeball.domain.model.ids import JobKey, LimiterKey, RunId, TaskKey, fraction_of
from timeball.domain.model.jobs.calendar import Calendar
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among, among
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.ports.collections import LedgerPage, LedgerQuery
from timeball.ports.due_index import DuePage, DueQuery, Owned
from timeball.ports.rows import ListQuery
from timeball.testing.memory_collections import MemoryJobs, MemoryRuns
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

LONGEST_LAG_MS = 10 * SECOND_MS

_LINES_LAG_MS = (0, 0, 50, 500, 4_000)
"""The longest lag of the index of lines: an index that lags for longer than a limiter waits for it counts as down."""

_OLD_MS = (0, 100, 1_000, 5_000)
"""How old an eventually consistent read may be."""

_EXAMINED = 3
"""How many rows a filtered page examines where pages are short, and how many rows the due index shows at once."""

_LONGEST_UNLISTED_MS = 1_500
"""How long a new job may be missing from all lists."""

_LONGEST_MOVE_MS = 3_000
"""How long the index of parts takes to drop a job that moves, and to show it in its new part."""


@dataclass(frozen=True)
class Move:
    """A job's move from one part to another: until when the index has it in the old one, and from when in the new."""

    moves_from: Among | None
    until_at: int
    to: Among | None
    from_at: int


@dataclass(frozen=True)
class Blur:
    """Which reads do not show the current rows, besides the due index and the listing; `draw` decides when."""

    draw: Random
    lines_lag: bool = False
    reads_are_old: bool = False
    pages_are_short: bool = False


class LaggingMemory(Memory):
    """The state of a store that notes each write. Its due index lags by up to ten seconds, in order for each key."""

    def __init__(self, clock: VirtualClock, random: Random, blur: Blur) -> None:
        super().__init__()
        self.lags = True
        self.blur = blur
        self.lines: dict[RunId, tuple[str, Waiting, int]] = {}
        self.history = History()
        self.live: dict[RunId, Run] = {}
        self.moves: dict[JobKey, Move] = {}
        self.listed_from: dict[JobKey, int] = {}
        self.clock, self._random = clock, random
        self._coming: list[tuple[int, int, Callable[[], None]]] = []
        self._last_seen: dict[object, int] = {}
        self._order = count()
        self._past: dict[tuple[type, object], list[tuple[int, Any]]] = defaultdict(list)

    def seen(self, key: object, row: Any, *, strong: bool) -> Any:
        """Return a row as it stands, or as it lately stood."""
        if strong or row is None or not (self.lags and self.blur.reads_are_old):
            return row
        past, at = self._past[type(row), key], self.clock.now() - self.blur.draw.choice(_OLD_MS)
        position = bisect_right(past, at, key=lambda one: one[0])
        return past[position - 1][1] if position else None

    def catch_up(self) -> None:
        """Make the entries visible that have reached the index by now."""
        now = self.clock.now()
        while self._coming and self._coming[0][0] <= now:
            heappop(self._coming)[2]()

    def written(self, key: Any, before: Any, after: object, now: int) -> None:
        """Note a write and its process, and let the index follow."""
        super().written(key, before, after, now)
        at, by = self.clock.now(), acting_name()
        self._blur(at, key, before, after)
        if isinstance(after, Job):
            self.history.note_job(Write(at, by, before, after))
            self._note_move(before, after, at)
        elif isinstance(after, Run):
            self.history.note_run(Write(at, by, before, after))
            self.live.pop(after.id, None)
            if not after.is_terminal:
                self.live[after.id] = after
        elif isinstance(after, Backfill):
            self.history.backfills.append(Write(at, by, before, after))
        elif isinstance(after, Operation):
            self.history.operations.append(Write(at, by, before, after))
        elif isinstance(after, Task) and isinstance(key, TaskKey):
            self.history.note_task(Write(at, by, before, after))
        else:
            self._note(at, before, after)

    def _note(self, at: int, before: Any, after: object) -> None:
        """Note a write of a row whose writer does not matter."""
        match after:
            case Freezes():
                self.history.note_freezes(at, after)
            case Limiter():
                self.history.limiters[after.key].append((at, after))
            case Calendar():
                self.history.calendars[after.key].append((at, after))
            case UniqueKeyRow():
                self.history.named.append((at, before, after))

    def _blur(self, at: int, key: object, before: Any, after: object) -> None:
        """Keep the rows that old reads return, and let the index of lines follow a write."""
        if self.blur.reads_are_old:
            self._past[type(after), key].append((at, after))
        if self.blur.lines_lag and isinstance(after, Run):
            self._line_up(before, after)

    def _note_move(self, before: Job | None, after: Job, at: int) -> None:
        """Let the index of parts drop a moving job, and show it in its new part, seconds apart and in either order."""
        name = after.key.tenant, after.key.job_id
        if before is None:
            self.listed_from[after.key] = at + int(fraction_of("listed", *name, at) * _LONGEST_UNLISTED_MS)
            return
        if (moves_from := among(before.status)) is (to := among(after.status)):
            return
        lost_ms, got_ms = (int(fraction_of(what, *name, at) * _LONGEST_MOVE_MS) for what in ("lost", "got"))
        self.moves[after.key] = Move(moves_from, at + lost_ms, to, at + got_ms)

    def index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Show a row in the due index after a while."""
        lag_ms = self._random.choice((0, 0, 0, 50, 50, LONGEST_LAG_MS)) if self.lags else 0
        index = super().index
        self._follow(key, lag_ms, lambda: index(key, due_at, shard, now))

    def _line_up(self, before: Run | None, after: Run) -> None:
        """Show a run in the index of lines after a while, or drop it."""
        slots = [one and _place_in(one) for one in (before, after)]
        if slots[0] == slots[1]:
            return
        lag_ms = self.blur.draw.choice(_LINES_LAG_MS) if self.lags else 0

        def show() -> None:
            self.lines.pop(after.id, None)
            if slots[1]:
                self.lines[after.id] = slots[1]

        self._follow(("line", after.id), lag_ms, show)

    def _follow(self, key: object, lag_ms: int, show: Callable[[], None]) -> None:
        """Let an index follow a write, after the earlier writes of the same row."""
        seen_at = max(self.clock.now() + lag_ms, self._last_seen.get(key, 0))
        self._last_seen[key] = seen_at
        heappush(self._coming, (seen_at, next(self._order), show))


class LaggingIndex(MemoryDueIndex):
    """A due index that answers from the entries that have reached it. A scan begins with its first query."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        assert isinstance(memory, LaggingMemory)
        self._lagging = memory

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        if queries and not any(query.after for query in queries):
            self._lagging.history.note_scan(acting_name())
        self._lagging.catch_up()
        if self._lagging.blur.pages_are_short:
            queries = [replace(query, limit=min(query.limit, _EXAMINED)) for query in queries]
        return super().query(queries)


class LaggingJobs(MemoryJobs):
    """Jobs whose new rows are listed a while later. Jobs that move are in both parts, or in neither."""

    def _is_listed(self, job: Job, parts: Sequence[Among]) -> bool:
        assert isinstance(self._memory, LaggingMemory)
        if not self._memory.lags:
            return super()._is_listed(job, parts)
        now, move = self._memory.clock.now(), self._memory.moves.get(job.key)
        if now < self._memory.listed_from[job.key]:
            return False
        if move is None or not parts:
            return super()._is_listed(job, parts)
        return (move.moves_from in parts and now < move.until_at) or (move.to in parts and now >= move.from_at)


class LaggingRuns(MemoryRuns):
    """Runs that note which process reads a job's ledger, and whose index of lines may lag."""

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, and note which process asks for it."""
        assert isinstance(self._memory, LaggingMemory)
        looks = self._memory.history.looks[acting_name(), query.job, query.from_at]
        looks.append((self._memory.clock.now(), query.to_at or LATEST))
        if not (self._memory.blur.pages_are_short and query.states):
            return super().ledger(query)
        examined = super().ledger(replace(query, states=frozenset(), limit=_EXAMINED))
        found = tuple(run for run in examined.runs if run.state in query.states)
        if len(found) <= query.limit:
            return replace(examined, runs=found)
        return LedgerPage(found[: query.limit], found[query.limit - 1].id)

    def notable(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[Run]:
        """Return the notable runs as they lately were: each run is shown up to a second and a half later."""
        assert isinstance(self._memory, LaggingMemory)
        now, history = self._memory.clock.now(), self._memory.history
        shown = MemoryRuns(Memory())
        for run in self:
            at = now - int(1_500 * fraction_of("lag", run)) if self._memory.lags else now
            writes = [one.after for one in history.of_run(run) if one.at <= at]
            if writes and run.job.tenant == query.tenant:
                shown[run] = writes[-1]
        return shown.notable(states, query)

    def in_line(self, limiter: LimiterKey, part: Permit, limit: int) -> list[RunId]:
        """Return the runs that are visible in a line."""
        assert isinstance(self._memory, LaggingMemory)
        if not self._memory.blur.lines_lag:
            return super().in_line(limiter, part, limit)
        self._memory.catch_up()
        mine = (limiter.tenant, Waiting(limiter.name, part))
        waiting = sorted((place, run) for run, (*line, place) in self._memory.lines.items() if tuple(line) == mine)
        return [run for _, run in waiting[:limit]]


class LaggingStore(MemoryStore):
    """A store whose due index lags; its `past` has all that was written to it."""

    def __init__(
        self,
        clock: VirtualClock,
        random: Random,
        blur: Blur,
        jobs: Callable[[Memory], MemoryJobs] = LaggingJobs,
        runs: Callable[[Memory], MemoryRuns] = LaggingRuns,
    ) -> None:
        self.past = LaggingMemory(clock, random, blur)
        self.lost: list[str] = []
        """What a release has dropped from rows that another release wrote."""
        self.refused: list[str] = []
        """The rows that a process could not read, because another release wrote them."""
        self.versions: Callable[[], set[int]] = set
        """Returns the versions of all rows, where two releases write them."""
        super().__init__(self.past, jobs=jobs, runs=runs, due=LaggingIndex)

    @property
    def history(self) -> History:
        return self.past.history


def _place_in(run: Run) -> tuple[str, Waiting, int] | None:
    """Return the tenant and the line in which a run stands, and its position; or None if it is in no line."""
    if run.waiting is None or not run.stands_in_line:
        return None
    return run.id.job.tenant, run.waiting, run.line_order
