"""What the engine asks of the world. Lists in, lists out; the answer's order is the question's.

Every write of a row that exists is a *swap*: it holds only if the row is still at the revision that was read. A swap or
an insert whose answer was lost and which was repeated underneath finds its own write in place and counts as done.
A port raises `UnavailableError` where it does not know the outcome (throttled, timed out): unknown is never absent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from timeball.domain.attempt import Attempt
from timeball.domain.backfill import Backfill
from timeball.domain.host import Host, HostKey
from timeball.domain.ids import BackfillKey, JobKey, RunId
from timeball.domain.instants import LATEST
from timeball.domain.job import Job, JobStatus, Work
from timeball.domain.run import Run, RunState
from timeball.domain.slots import Slots
from timeball.domain.tenant import KeyHolder, Tenant


class UnavailableError(Exception):
    """The store or the queue did not answer, or not for every item: the outcome is unknown."""


class ContendedError(UnavailableError):
    """What was to be changed kept changing meanwhile: nothing of what was asked for was done."""


Row = TypeVar("Row", Job, Run, Backfill, Host, Slots)
Owned = JobKey | RunId | BackfillKey
"""What may stand in the due index."""


@dataclass(frozen=True)
class Swap(Generic[Row]):
    """Replace `before` by `after`, on the condition that the stored row still has `before`'s revision.

    A job's stored work stays as it is, unless `with_work` says that `after.work` replaces it.
    """

    before: Row
    after: Row
    with_work: bool = False


@dataclass(frozen=True)
class Swapped(Generic[Row]):
    """Whether a swap was done (by this call, or by an earlier one whose answer was lost), and the row as it now stands.

    `row` is None if there is no such row.
    """

    done: bool
    row: Row | None


@dataclass(frozen=True)
class Conclusion:
    """Give a job its final status, if its own is one of `open_statuses`, and `fire_at` is its final fire.

    It leaves the due index, unless a change of its user is not settled yet.
    """

    job: JobKey
    fire_at: int
    status: JobStatus
    at: int
    open_statuses: tuple[JobStatus, ...] = (JobStatus.PENDING,)


@dataclass(frozen=True)
class DueQuery:
    """The entries of one shard in one UTC hour (ms of its start) that are due through `through_at`, earliest first.

    `latest_first` turns the order round.
    """

    shard: int
    hour_at: int
    through_at: int
    limit: int
    latest_first: bool = False


@dataclass(frozen=True)
class DuePage:
    """What a due query nominates, and whether it stopped at its limit."""

    candidates: tuple[Owned, ...]
    full: bool


@dataclass(frozen=True)
class LedgerQuery:
    """A page of a job's runs with fire times from `from_at` to `to_at` (both included), newest first.

    `before` is the last run of the page before (None: the first page); `states` empty means all.
    """

    job: JobKey
    limit: int
    from_at: int | None = None
    to_at: int | None = None
    states: frozenset[RunState] = frozenset()
    before: RunId | None = None


@dataclass(frozen=True)
class LedgerPage:
    """Runs, and the run to continue before, or None at the end."""

    runs: tuple[Run, ...]
    next_before: RunId | None


@dataclass(frozen=True)
class DeadQuery:
    """A page of a tenant's dead letters that died from `from_at` to `to_at` (both included), newest first.

    `after` is where the page before ended: when that run died, and which it was. `oldest_first` turns the order round.
    """

    tenant: str
    limit: int
    from_at: int = 0
    to_at: int = LATEST
    after: tuple[int, RunId] | None = None
    oldest_first: bool = False


@dataclass(frozen=True, order=True)
class Owner:
    """The execution of the ticker that drives a partition: the greater (start, name) owns it."""

    started_at: str
    name: str


class Store(Protocol):
    """Jobs, runs, the due index, and the rows of partitions and shards. Reads are strong unless they say otherwise."""

    def create_jobs(self, jobs: Sequence[Job], now: int) -> list[Job | None]:
        """Insert each job with its work, atomically per job. None: created; a job: the row that stood there."""

    def read_jobs(self, keys: Sequence[JobKey], *, with_work: bool = False, strong: bool = True) -> list[Job | None]:
        """Return each job, or None if there is none. `with_work` makes `Job.work` present wherever it is stored.

        A reading that is not `strong` costs half, and may be that of some seconds ago.
        """

    def swap_jobs(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Write each job's row if it is as it was read."""

    def conclude_jobs(self, conclusions: Sequence[Conclusion]) -> list[bool]:
        """Apply each conclusion; False where its conditions do not hold."""

    def save_works(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store work beside a job, for a run that has its own; return the name of each. May be repeated."""

    def read_works(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return the work of each name, or None if it is not (or no longer) there."""

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note at which instant a request of a client took effect, unless it is noted; return what stands noted."""

    def create_backfills(self, backfills: Sequence[Backfill], now: int) -> list[Backfill | None]:
        """Insert each backfill if absent. None: inserted; a backfill: the row that stood there."""

    def read_backfills(self, keys: Sequence[BackfillKey]) -> list[Backfill | None]:
        """Return each backfill, or None if there is none."""

    def swap_backfills(self, swaps: Sequence[Swap[Backfill]], now: int) -> list[Swapped[Backfill]]:
        """Write each backfill's row if it is as it was read."""

    def backfills_of(self, job: JobKey, after: str = "", limit: int | None = None) -> list[Backfill]:
        """Return up to `limit` backfills of a job, those with a name behind `after`, in the order of their names."""

    def read_slots(self, tenants: Sequence[str]) -> list[Slots]:
        """Return the slots of each tenant, empty ones at revision 0 if there is no row."""

    def swap_slots(self, swaps: Sequence[Swap[Slots]]) -> list[Swapped[Slots]]:
        """Write each tenant's row if it is as it was read; from revision 0, if there is none."""

    def insert_runs(self, runs: Sequence[Run], now: int) -> list[Run | None]:
        """Insert each run if absent. None: inserted; a run: the row that already stands there."""

    def read_runs(self, ids: Sequence[RunId], *, strong: bool = True) -> list[Run | None]:
        """Return each run, or None if there is none; `strong` as for jobs."""

    def swap_runs(self, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        """Write each run's row if it is as it was read."""

    def runs_between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the runs of origin schedule that cover any instant from `first_at` to `last_at`, earliest first.

        A skipped range is returned if its first instant lies within.
        """

    def live_runs(self, job: JobKey, since_at: int, through_at: int = LATEST) -> list[Run]:
        """Return the runs of a job that are not terminal and whose fire time lies between these (both included)."""

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page of a job's runs."""

    def dead_letters(self, query: DeadQuery) -> list[tuple[int, RunId]]:
        """Return up to `limit` runs that the index names as dead letters, and when each died. It may lag."""

    def read_hosts(self, keys: Sequence[HostKey]) -> list[Host | None]:
        """Return the row of each host, or None if it has none."""

    def create_hosts(self, hosts: Sequence[Host], now: int) -> list[Host | None]:
        """Insert each host's row if absent. None: inserted; a host: the row that stood there."""

    def swap_hosts(self, swaps: Sequence[Swap[Host]], now: int) -> list[Swapped[Host]]:
        """Write each host's row if it is as it was read."""

    def save_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each finished attempt in a row of its own if absent. None: stored; an attempt: what stood there."""

    def replace_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Write each attempt in place of what stands in its row."""

    def read_attempts(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""

    def due(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Ask the due index, which may lag: its answers only nominate."""

    def take_partition(self, partition: int, owner: Owner) -> bool:
        """Make `owner` the partition's owner, unless a greater one is."""

    def read_cursors(self, shards: Sequence[int]) -> dict[int, int]:
        """Return, for each shard that has a cursor, the oldest hour (ms) that may still hold due entries.

        It may be where a cursor stood some seconds ago, which is never further on.
        """

    def move_cursor(self, shard: int, oldest_hour_at: int) -> None:
        """Move a shard's cursor forward; a cursor never moves back."""


@dataclass(frozen=True)
class Dispatch:
    """A run to be carried to an executor: its queue's priority, and the instant from which it may be called."""

    run: RunId
    priority: str
    not_before: int


MAX_WATCHED = 100
"""How many runs one watch may be over."""


@dataclass(frozen=True)
class Watch:
    """Runs that were sent, at most MAX_WATCHED, and are to be looked at again at `at` (ms): for the `look`th time."""

    runs: tuple[RunId, ...]
    at: int
    look: int = 1


class Queue(Protocol):
    """What carries runs to executors, and watches to whoever looks again: at least once, in any order."""

    def send(self, dispatches: Sequence[Dispatch], now: int) -> list[bool]:
        """Send each, delayed by the whole seconds until a lead before `not_before`. False: unknown, send it again."""

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Let each watch come at its instant or later, if that is at most 15 minutes ahead. False: unknown."""

    def backlog(self, priority: str) -> int:
        """Return about how many runs of a priority wait for an executor to receive them."""


@dataclass(frozen=True)
class Delivery:
    """A message as an executor received it. `receipt` names this receipt of it, for the inbox alone.

    `not_before` is when the run could be called as the message was sent: a hint, for the row may have changed.
    """

    run: RunId
    receipt: str
    not_before: int | None = None


class Inbox(Protocol):
    """The executor's side of one queue. Both calls may fail for an item in silence: the message then comes again."""

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Keep the messages from other executors for so many seconds from now (0: give them back at once)."""

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove the messages for good."""


@dataclass(frozen=True)
class Call:
    """One attempt's call of its target."""

    run: RunId
    attempt: int
    work: Work
    timeout_seconds: float


@dataclass(frozen=True)
class Answer:
    """What came of a call. `status` None: no answer, and `error` is a sentence. `body` is cut at 16 KB.

    `called_at` is the moment the call left (ms), None if it never did. `was_cut`: it was ended here, not there.
    """

    called_at: int | None
    finished_at: int
    status: int | None = None
    body: str = ""
    error: str | None = None
    timed_out: bool = False
    retry_after_seconds: float | None = None
    was_cut: bool = False


class Caller(Protocol):
    """What calls a target. Never raises for what a target or a user's url does."""

    async def call(self, call: Call) -> Answer:
        """Call the target once."""


class Clock(Protocol):
    """The one source of time."""

    def now(self) -> int:
        """Return the present instant, in ms."""

    async def sleep_until(self, at: int) -> None:
        """Return at the first moment when `now() >= at`; never earlier."""


class Meter(Protocol):
    """Where counts go that people watch."""

    def count(self, name: str, value: int, reason: str) -> None:
        """Add to the counter of a name and a reason. Never raises."""


class Tenants(Protocol):
    """Tenants, and the holders of API keys by the hash of each key. One at a time: a request brings one key."""

    def create_tenant(self, tenant: Tenant) -> bool:
        """Insert a tenant if absent; False: there is one of that name."""

    def create_key(self, hashed: str, holder: KeyHolder) -> bool:
        """Insert the holder of a key if absent; False: that hash has a holder."""

    def find_holder(self, hashed: str) -> KeyHolder | None:
        """Return the holder of a key, valid or not, or None if there is none. A key may be unknown when it is new."""
