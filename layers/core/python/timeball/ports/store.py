"""The whole store of the engine, as one value."""

from dataclasses import dataclass

from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.terms.event import Patterns, Subscription, SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.ports.collections import Attempts, Backfills, Calendars, Jobs, Operations, Runs, Tasks, Works
from timeball.ports.counters import SubmitBudgets, Usage, Windows
from timeball.ports.due_index import DueIndex
from timeball.ports.notes import Changes, Edges, Requests
from timeball.ports.partitions import Partitions
from timeball.ports.rows import Rows
from timeball.ports.secrets import SigningSecretStore


@dataclass(frozen=True)
class Store:
    """The collections of rows, and the registers beside them. Slots, freezes and patterns are keyed by tenant.

    `task_versions` holds the versions of tasks that newer ones have replaced. An empty list costs nothing: the answer
    is empty, without a request.
    """

    jobs: Jobs
    runs: Runs
    backfills: Backfills
    circuits: Rows[CircuitKey, Circuit]
    slots: Rows[str, BackfillSlots]
    limiters: Rows[LimiterKey, Limiter]
    operations: Operations
    tasks: Tasks
    task_versions: Rows[TaskRef, Task]
    freezes: Rows[str, Freezes]
    calendars: Calendars
    subscriptions: Rows[SubscriptionKey, Subscription]
    patterns: Rows[str, Patterns]
    uniques: Rows[UniqueKey, UniqueKeyRow]
    attempts: Attempts
    works: Works
    requests: Requests
    changes: Changes
    windows: Windows
    submit_budgets: SubmitBudgets
    edges: Edges
    due: DueIndex
    partitions: Partitions
    signing: SigningSecretStore
    usage: Usage
