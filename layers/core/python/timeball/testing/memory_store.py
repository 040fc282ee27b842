"""A store in memory, as one value that holds its collections.

The signing secrets in memory.

Tenants and API keys, in memory.
"""

from collections.abc import Callable
from operator import attrgetter

from timeball.domain.attempts.callback_token import SigningSecrets, rotated
from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.tenants.key import Key, tenant_of
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.calendar import Calendar, CalendarKey
from timeball.domain.model.terms.event import Patterns, Subscription, SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.ports.due_index import Owned
from timeball.ports.store import Store
from timeball.ports.tenants import ALL, Tenants
from timeball.testing.memory_collections import (
    MemoryJobs,
    MemoryListedRows,
    MemoryNamedRows,
    MemoryRuns,
    MemoryTasks,
)
from timeball.testing.memory_kept import (
    MemoryAttempts,
    MemoryChanges,
    MemoryDueIndex,
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

    jobs: MemoryJobs
    runs: MemoryRuns
    tasks: MemoryTasks
    operations: MemoryListedRows[OperationKey, Operation]
    backfills: MemoryNamedRows[JobKey, BackfillKey, Backfill]
    circuits: MemoryRows[CircuitKey, Circuit]
    slots: MemoryRows[str, BackfillSlots]
    limiters: MemoryRows[LimiterKey, Limiter]
    freezes: MemoryRows[str, Freezes]
    calendars: MemoryNamedRows[str, CalendarKey, Calendar]
    calendar_uses: MemoryLinks[CalendarKey]
    subscriptions: MemoryRows[SubscriptionKey, Subscription]
    patterns: MemoryRows[str, Patterns]
    uniques: MemoryRows[UniqueKey, UniqueKeyRow]
    attempts: MemoryAttempts
    works: MemoryWorks
    requests: MemoryNotes[tuple[JobKey, str], int]
    events: MemoryNotes[tuple[str, str], int]
    changes: MemoryChanges
    windows: MemoryWindows
    submit_budgets: MemorySubmitBudgets
    edges: MemoryLinks[JobKey]
    due: MemoryDueIndex
    partitions: MemoryPartitions
    signing: MemorySigning
    usage: MemoryUsage

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
        tasks = MemoryTasks(memory)
        super().__init__(
            jobs=jobs(memory),
            runs=runs(memory),
            backfills=MemoryNamedRows(memory, attrgetter("job", "name")),
            circuits=circuits(memory),
            slots=MemoryRows(memory, "tenant"),
            limiters=MemoryRows(memory),
            operations=MemoryListedRows(memory),
            tasks=tasks,
            task_versions=tasks.replaced,
            freezes=MemoryRows(memory, "tenant"),
            calendars=MemoryNamedRows(memory, attrgetter("tenant", "name")),
            calendar_uses=MemoryLinks(memory),
            subscriptions=MemoryRows(memory),
            patterns=MemoryRows(memory, "tenant"),
            uniques=MemoryRows(memory),
            attempts=MemoryAttempts(memory),
            works=MemoryWorks(memory),
            requests=MemoryNotes(),
            events=MemoryNotes(),
            changes=MemoryChanges(memory),
            windows=MemoryWindows(memory),
            submit_budgets=MemorySubmitBudgets(memory),
            edges=MemoryLinks(memory),
            due=due(memory),
            partitions=partitions(memory),
            signing=MemorySigning(),
            usage=MemoryUsage(memory),
        )
        self.jobs.tasks = tasks
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

    def __init__(self) -> None:
        memory = Memory()
        super().__init__(MemoryNamedRows(memory, _tenant, "name"), MemoryNamedRows(memory, _key_of_tenant, "key_id"))

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return an API key and its tenant."""
        return self.tenants.get(tenant_of(key_id)), self.keys.get(key_id)
