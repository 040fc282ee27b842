"""Everything that is stored, in memory: a store as one value, and the tenants with their API keys."""

from collections.abc import Callable
from operator import attrgetter

from timeball.domain.attempts.callback_token import SigningSecrets, rotated
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey
from timeball.domain.model.jobs.freeze import Freeze, Freezes
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.tenants.key import Key, tenant_of
from timeball.domain.model.tenants.session import Session, key_id_of
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.event import Patterns, Subscription, SubscriptionKey, WaitingEvent, WaitingEventKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.domain.planning.era import Era
from timeball.ports.due_index import Owned
from timeball.ports.rows import Swap
from timeball.ports.store import Store
from timeball.ports.tenants import ALL, Tenants
from timeball.testing.memory_collections import MemoryJobs, MemoryListedRows, MemoryNamedRows, MemoryRuns, MemoryTasks
from timeball.testing.memory_kept import (
    MemoryAttempts,
    MemoryChanges,
    MemoryDueIndex,
    MemoryFormerRows,
    MemoryLinks,
    MemoryNotes,
    MemoryPartitions,
    MemorySubmitBudgets,
    MemoryUsage,
    MemoryWindows,
    MemoryWorks,
)
from timeball.testing.memory_rows import Memory, MemoryRows


class MemorySigning:
    """The signing secrets."""

    def __init__(self) -> None:
        self.stored: SigningSecrets | None = None

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the stored secrets."""
        self.stored = self.stored or SigningSecrets(fresh)
        return self.stored

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make another secret the newest."""
        before = self.secrets(fresh)
        self.stored = before if before.newest == fresh else rotated(before, fresh, now) or before
        return self.stored


class MemoryStore(Store):
    """Everything that the engine stores, in this process. A test may replace some collections."""

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        jobs: Callable[[Memory], MemoryJobs] = MemoryJobs,
        runs: Callable[[Memory], MemoryRuns] = MemoryRuns,
        circuits: Callable[[Memory], MemoryRows[CircuitKey, Circuit]] = MemoryRows,
        due: Callable[[Memory], MemoryDueIndex] = MemoryDueIndex,
        partitions: Callable[[Memory], MemoryPartitions] = MemoryPartitions,
    ) -> None:
        memory = memory or Memory()
        self.jobs: MemoryJobs = jobs(memory)
        self.runs: MemoryRuns = runs(memory)
        self.backfills: MemoryNamedRows[JobKey, BackfillKey, Backfill] = MemoryNamedRows(
            memory, attrgetter("job", "name")
        )
        self.circuits: MemoryRows[CircuitKey, Circuit] = circuits(memory)
        self.slots: MemoryRows[str, BackfillSlots] = MemoryRows(memory, "tenant")
        self.limiters: MemoryRows[LimiterKey, Limiter] = MemoryRows(memory)
        self.operations: MemoryListedRows[OperationKey, Operation] = MemoryListedRows(memory)
        self.tasks: MemoryTasks = MemoryTasks(memory)
        self.task_versions: MemoryRows[TaskRef, Task] = self.tasks.replaced
        self.freezes: MemoryRows[str, Freezes] = MemoryRows(memory, "tenant")
        self.calendars: MemoryNamedRows[str, CalendarKey, Calendar] = MemoryNamedRows(
            memory, attrgetter("tenant", "name")
        )
        self.former_freezes: MemoryFormerRows[str, Freeze] = MemoryFormerRows(memory)
        self.former_calendars: MemoryFormerRows[CalendarKey, Calendar] = MemoryFormerRows(memory)
        self.eras: MemoryFormerRows[str, Era] = MemoryFormerRows(memory)
        self.calendar_uses: MemoryLinks[CalendarKey] = MemoryLinks(memory)
        self.subscriptions: MemoryRows[SubscriptionKey, Subscription] = MemoryRows(memory)
        self.waiting_events: MemoryNamedRows[JobKey, WaitingEventKey, WaitingEvent] = MemoryNamedRows(
            memory, attrgetter("job", "name")
        )
        self.patterns: MemoryRows[str, Patterns] = MemoryRows(memory, "tenant")
        self.uniques: MemoryRows[UniqueKey, UniqueKeyRow] = MemoryRows(memory)
        self.attempts: MemoryAttempts = MemoryAttempts(memory)
        self.works: MemoryWorks = MemoryWorks(memory)
        self.requests: MemoryNotes[tuple[JobKey, str], int] = MemoryNotes()
        self.events: MemoryNotes[tuple[str, str], int] = MemoryNotes()
        self.changes: MemoryChanges = MemoryChanges(memory)
        self.windows: MemoryWindows = MemoryWindows(memory)
        self.submit_budgets: MemorySubmitBudgets = MemorySubmitBudgets(memory)
        self.edges: MemoryLinks[JobKey] = MemoryLinks(memory)
        self.due: MemoryDueIndex = due(memory)
        self.partitions: MemoryPartitions = partitions(memory)
        self.signing: MemorySigning = MemorySigning()
        self.usage: MemoryUsage = MemoryUsage(memory)
        self.jobs.tasks = self.tasks
        self._memory = memory

    def waiting(self) -> dict[Owned, tuple[int, int, int]]:
        """Return the due index: the shard, the day and the due instant (ms) of each entry."""
        return self._memory.buckets.entries

    def lose_answers(self, count: int) -> None:
        """Make the next conditional writes lose their first answer."""
        self._memory.answers_to_lose = count


def _tenant(name: str) -> tuple[str, str]:
    return ALL, name


def _key_of_tenant(key_id: str) -> tuple[str, str]:
    return tenant_of(key_id), key_id


class MemoryTenants(Tenants):
    """The tenants and the API keys of one table, and the authorizer's query."""

    tenants: MemoryNamedRows[str, str, Tenant]
    keys: MemoryNamedRows[str, str, Key]
    sessions: MemoryRows[str, Session]

    def __init__(self) -> None:
        memory = Memory()
        super().__init__(
            MemoryNamedRows(memory, _tenant, "name"),
            MemoryNamedRows(memory, _key_of_tenant, "key_id"),
            MemoryRows(memory, "session_id"),
        )

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return an API key and its tenant."""
        return self.tenants.get(tenant_of(key_id)), self.keys.get(key_id)

    def find_session(self, session_id: str) -> tuple[Tenant | None, Key | None, Session | None]:
        """Return a session, its API key and its tenant."""
        return *self.find_holder(key_id_of(session_id)), self.sessions.get(session_id)

    def note_use(self, before: Session, after: Session, now: int) -> None:
        """Store a session with its use noted, unless its row has changed meanwhile."""
        self.sessions.swap([Swap(before, after)], now)
