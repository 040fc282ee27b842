"""A store in memory, as one value that holds its collections.

The signing secrets in memory.

Tenants and API keys, in memory.
"""

from collections.abc import Callable
from operator import attrgetter

from timeball.domain.attempts.callback_token import SigningSecrets, rotated
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.tenants.key import Key, tenant_of
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.event import Patterns, Subscription, SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.ports.due_index import Owned
from timeball.ports.store import Store
from timeball.ports.tenants import Tenants
from timeball.testing.memory_collections import (
    MemoryBackfills,
    MemoryCalendars,
    MemoryCircuits,
    MemoryFreezes,
    MemoryJobs,
    MemoryOperations,
    MemoryRuns,
    MemorySlots,
    MemoryTasks,
)
from timeball.testing.memory_kept import (
    MemoryAttempts,
    MemoryChanges,
    MemoryDueIndex,
    MemoryEdges,
    MemoryPartitions,
    MemoryRequests,
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
    operations: MemoryOperations
    backfills: MemoryBackfills
    circuits: MemoryCircuits
    slots: MemorySlots
    limiters: MemoryRows[LimiterKey, Limiter]
    freezes: MemoryFreezes
    calendars: MemoryCalendars
    subscriptions: MemoryRows[SubscriptionKey, Subscription]
    patterns: MemoryRows[str, Patterns]
    uniques: MemoryRows[UniqueKey, UniqueKeyRow]
    attempts: MemoryAttempts
    works: MemoryWorks
    requests: MemoryRequests
    changes: MemoryChanges
    windows: MemoryWindows
    submit_budgets: MemorySubmitBudgets
    edges: MemoryEdges
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
        circuits: Callable[[Memory], MemoryCircuits] = MemoryCircuits,
        due: Callable[[Memory], MemoryDueIndex] = MemoryDueIndex,
        partitions: Callable[[Memory], MemoryPartitions] = MemoryPartitions,
    ) -> None:
        memory = memory or Memory()
        tasks = MemoryTasks(memory)
        super().__init__(
            jobs=jobs(memory),
            runs=runs(memory),
            backfills=MemoryBackfills(memory),
            circuits=circuits(memory),
            slots=MemorySlots(memory),
            limiters=MemoryRows(memory, attrgetter("key")),
            operations=MemoryOperations(memory),
            tasks=tasks,
            task_versions=tasks.replaced,
            freezes=MemoryFreezes(memory),
            calendars=MemoryCalendars(memory),
            subscriptions=MemoryRows(memory, attrgetter("key")),
            patterns=MemoryRows(memory, attrgetter("tenant")),
            uniques=MemoryRows(memory, attrgetter("key")),
            attempts=MemoryAttempts(memory),
            works=MemoryWorks(memory),
            requests=MemoryRequests(),
            changes=MemoryChanges(memory),
            windows=MemoryWindows(memory),
            submit_budgets=MemorySubmitBudgets(memory),
            edges=MemoryEdges(memory),
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


class MemoryTenantRows(MemoryRows[str, Tenant]):
    """The tenants."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, attrgetter("name"))

    def listed(self, after: str, limit: int) -> list[Tenant]:
        """Return tenants after a name."""
        return [self[name] for name in sorted(self) if name > after][:limit]


class MemoryKeyRows(MemoryRows[str, Key]):
    """The API keys."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, attrgetter("key_id"))

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Key]:
        """Return a tenant's API keys after an id."""
        return [self[key_id] for key_id in sorted(self) if tenant_of(key_id) == tenant and key_id > after][:limit]


class MemoryTenants(Tenants):
    """The tenants and the API keys of one table, and the authorizer's query."""

    tenants: MemoryTenantRows
    keys: MemoryKeyRows

    def __init__(self) -> None:
        memory = Memory()
        super().__init__(MemoryTenantRows(memory), MemoryKeyRows(memory))

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return an API key and its tenant."""
        return self.tenants.get(tenant_of(key_id)), self.keys.get(key_id)
