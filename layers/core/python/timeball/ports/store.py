"""The whole store of the engine, as one value."""

from dataclasses import dataclass

from timeball.domain.attempts.circuit_breaker import Circuit, CircuitKey
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey, TaskKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey
from timeball.domain.model.jobs.freeze import Freeze, Freezes
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.terms.event import Patterns, Subscription, SubscriptionKey, WaitingEvent, WaitingEventKey
from timeball.domain.model.terms.flow import UniqueKey, UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.domain.planning.era import Era
from timeball.ports.collections import Attempts, Jobs, Runs, Works
from timeball.ports.counters import SubmitBudgets, Usage, Windows
from timeball.ports.due_index import DueIndex, Partitions
from timeball.ports.notes import Changes, FormerRows, Links, Notes
from timeball.ports.rows import ListedRows, NamedRows, Rows
from timeball.ports.secrets import SigningSecretStore


@dataclass(eq=False)
class Store:
    """Everything that is stored. An empty list costs nothing: the answer is empty, without a request."""

    jobs: Jobs
    runs: Runs
    backfills: NamedRows[JobKey, BackfillKey, Backfill]
    circuits: Rows[CircuitKey, Circuit]
    slots: Rows[str, BackfillSlots]
    """The backfill slots of each tenant."""
    limiters: Rows[LimiterKey, Limiter]
    operations: ListedRows[OperationKey, Operation]
    tasks: ListedRows[TaskKey, Task]
    task_versions: Rows[TaskRef, Task]
    """The versions of tasks that newer ones have replaced."""
    freezes: Rows[str, Freezes]
    """The freezes of each tenant."""
    former_freezes: FormerRows[str, Freeze]
    """The freezes of each tenant that are over and no longer in its row."""
    calendars: NamedRows[str, CalendarKey, Calendar]
    """The calendars of each tenant. Deleted ones are read, but are not among those of their owner."""
    former_calendars: FormerRows[CalendarKey, Calendar]
    """The versions of calendars that newer ones have replaced."""
    calendar_uses: Links[CalendarKey]
    """The jobs that may name each calendar."""
    subscriptions: Rows[SubscriptionKey, Subscription]
    waiting_events: NamedRows[JobKey, WaitingEventKey, WaitingEvent]
    """The events that came for fires of each job, the newest first."""
    patterns: Rows[str, Patterns]
    """The event patterns of each tenant."""
    uniques: Rows[UniqueKey, UniqueKeyRow]
    attempts: Attempts
    works: Works
    requests: Notes[tuple[JobKey, str], int]
    """When clients' requests, by job and name, took effect (ms): a repeat has no further effect."""
    events: Notes[tuple[str, str], int]
    """When events, by tenant and name, were accepted (ms)."""
    changes: Changes
    windows: Windows
    submit_budgets: SubmitBudgets
    edges: Links[JobKey]
    """The jobs that may depend on each job."""
    due: DueIndex
    partitions: Partitions
    signing: SigningSecretStore
    usage: Usage
    eras: FormerRows[str, Era]
    """The eras of this Timeball, the present one included, under one name."""
