"""The whole store of the engine, as one value."""

from dataclasses import dataclass

from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.backfills.slots import BackfillSlots
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.terms.event import Subscription, SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.domain.sharing.patterns import Patterns
from timeball.ports.collections.attempts import Attempts
from timeball.ports.collections.backfills import Backfills
from timeball.ports.collections.calendars import Calendars
from timeball.ports.collections.jobs import Jobs
from timeball.ports.collections.operations import Operations
from timeball.ports.collections.rows import Rows
from timeball.ports.collections.runs import Runs
from timeball.ports.collections.tasks import Tasks
from timeball.ports.collections.works import Works
from timeball.ports.registers.changes import Changes
from timeball.ports.registers.due_index import DueIndex
from timeball.ports.registers.edges import Edges
from timeball.ports.registers.partitions import Partitions
from timeball.ports.registers.requests import Requests
from timeball.ports.registers.signing import SigningSecretStore
from timeball.ports.registers.submit_budgets import SubmitBudgets
from timeball.ports.registers.usage import Usage
from timeball.ports.registers.windows import Windows


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
