"""A store in memory, as one value that holds its collections."""

from collections.abc import Callable
from operator import attrgetter

from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.terms.event import Subscription, SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.domain.sharing.patterns import Patterns
from timeball.ports.registers.due_index import Owned
from timeball.ports.store import Store
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
from timeball.testing.memory_signing import MemorySigning


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
