"""The keys of rows: partition and sort keys, the partitions of the indexes, and back from keys to what they name."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from timeball.aws.dynamodb.table.listing_shards import stratum_of
from timeball.domain.attempts.circuit_breaker import CircuitKey
from timeball.domain.model.ids import (
    BackfillKey,
    JobKey,
    LimiterKey,
    OperationKey,
    Origin,
    RunId,
    TaskKey,
    fraction_of,
    shard_of,
)
from timeball.domain.model.jobs.calendar import CalendarKey
from timeball.domain.model.jobs.revision import Announcement, RevisionId
from timeball.domain.model.jobs.task import TaskRef
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.model.terms.event import SubscriptionKey, WaitingEventKey
from timeball.domain.model.terms.flow import UniqueKey
from timeball.domain.time.instants import DAY_MS
from timeball.domain.usage.hours import HourKey
from timeball.ports.counters import CountWindow
from timeball.ports.due_index import Owned

Key = dict[str, str]
Name = TypeVar("Name")

JOB = "JOB"
RUN = "RUN#"
RESULT = "RESULT#"
BACKFILL = "BACKFILL#"
WAITING_EVENT = "EVENT#"
CHILD = "CHILD#"
HOUR = "HOUR#"
ANNOUNCED = "CHANGE#"
CALENDAR = "CALENDAR#"
USE = "USE#"
FREEZE = "FREEZE#"
SIGNING: Key = {"pk": "SIGNING", "sk": "SECRET"}
"""The key of the secret with which Timeball signs; no tenant's row has a key without a `#`."""
LAST = "~"
"""Sorts after every character of a sort key."""
JOBS = "jobs"
DEAD = "dead"
"""Stands for the status in the listing's partition of dead letters."""
REGISTERED = "task"
"""Stands for the status in the listing's partition of tasks."""
OPERATION = "operation"
"""Stands for the status in the listing's partition of bulk operations."""


@dataclass(frozen=True)
class Marked(Generic[Name]):
    """Rows of a tenant that belong to no job, one for each name. A mark, which no id has, stands before the name."""

    kind: Callable[[str, str], Name]
    """The type of the names: a tenant, and a text."""
    mark: str
    """The mark. Each kind of rows has another, or another sort key."""
    sk: str
    """The sort key."""

    def key_of(self, name: Name) -> Key:
        """Return the key of a name's row."""
        tenant, text = vars(name).values()
        return {"pk": f"{tenant}#!{self.mark}{text}", "sk": self.sk}

    def name_in(self, pk: str, _: str) -> Name:
        """Return the name in a key."""
        return self.kind(*pk.split(f"#!{self.mark}", 1))


CIRCUITS = Marked(CircuitKey, "", "HOST")
LIMITERS = Marked(LimiterKey, "$", "LIMITER")
TASKS = Marked(TaskKey, "!", "TASK")
OPERATIONS = Marked(OperationKey, "!!", "OPERATION")
SUBSCRIPTIONS = Marked(SubscriptionKey, "~", "SUBSCRIPTION")
UNIQUES = Marked(UniqueKey, "=", "UNIQUE")


def key_of_tenant(sk: str, tenant: str) -> Key:
    """Return the key of a row that each tenant has once."""
    return {"pk": tenant_key(tenant), "sk": sk}


slots_key, patterns_key, freezes_key, budget_key, former_freezes_in = (
    partial(key_of_tenant, sk) for sk in ("SLOTS", "PATTERNS", "FREEZES", "INTAKE", FREEZE)
)
"""The keys of a tenant's backfill slots, its event patterns, its freezes and its reservations; and the partition and
the prefix of its former freezes."""


def tenant_in(pk: str, _: str) -> str:
    """Return the tenant in the key of a row that each tenant has once."""
    return pk.removesuffix("#!")


def job_key(key: JobKey) -> Key:
    """Return the key of a job's row."""
    return {"pk": f"{key.tenant}#{key.job_id}", "sk": JOB}


def run_key(run: RunId) -> Key:
    """Return the key of a run's row: in its job's item collection, by fire time."""
    series = f"#{run.series}" if run.series else ""
    if run.generation > 1:
        series = f"#{run.series}#{run.generation:06d}"
    return {"pk": job_key(run.job)["pk"], "sk": f"{run_bound(run.fire_at)}#{run.origin}{series}"}


def run_bound(fire_at: int) -> str:
    """Return the prefix of the sort keys of all runs of a fire time."""
    return f"{RUN}{fire_at:015d}"


def attempt_key(run: RunId, number: int) -> Key:
    """Return the key of a finished attempt's own row."""
    return {"pk": run_key(run)["pk"], "sk": f"{attempts_prefix(run)}{number:06d}"}


def attempts_prefix(run: RunId) -> str:
    """Return the prefix of the sort keys of a run's attempts."""
    of = "" if run.generation == 1 else f".{run.generation:06d}"
    return f"{RESULT}{run.fire_at:015d}#{run.origin}{run.series}{of}#"


def attempt_in(pk: str, sk: str) -> tuple[RunId, int]:
    """Return the run and the number of the finished attempt of these keys."""
    _, fire_at, of_run, number = sk.split("#")
    name, _, generation = of_run.partition(".")
    origin = next(one for one in Origin if name.startswith(one))
    return RunId(job_of(pk), int(fire_at), origin, name.removeprefix(origin), int(generation or 1)), int(number)


def work_key(key: JobKey, digest: str) -> Key:
    """Return the key of the row of a job's large work."""
    return {"pk": job_key(key)["pk"], "sk": f"PAYLOAD#{digest}"}


def backfill_key(key: BackfillKey) -> Key:
    """Return the key of a backfill's row."""
    return {"pk": job_key(key.job)["pk"], "sk": f"{BACKFILL}{key.name}"}


def backfill_in(pk: str, sk: str) -> BackfillKey:
    """Return the name of the backfill in a key."""
    return BackfillKey(job_of(pk), sk.removeprefix(BACKFILL))


def waiting_event_key(key: WaitingEventKey) -> Key:
    """Return the key of an event that waits for a fire: in its job's item collection."""
    return {"pk": job_key(key.job)["pk"], "sk": f"{WAITING_EVENT}{key.name}"}


def waiting_event_in(pk: str, sk: str) -> WaitingEventKey:
    """Return the name of the waiting event in a key."""
    return WaitingEventKey(job_of(pk), sk.removeprefix(WAITING_EVENT))


def edge_key(parent: JobKey, child: JobKey) -> Key:
    """Return the key of an edge: in the parent's item collection."""
    return {"pk": job_key(parent)["pk"], "sk": f"{CHILD}{child.job_id}"}


def calendar_key(key: CalendarKey) -> Key:
    """Return the key of a calendar's row."""
    return {"pk": tenant_key(key.tenant), "sk": f"{CALENDAR}{key.name}"}


def calendar_in(pk: str, sk: str) -> CalendarKey:
    """Return the name of the calendar in a key."""
    return CalendarKey(tenant_in(pk, sk), sk.removeprefix(CALENDAR))


def former_calendars_in(key: CalendarKey) -> Key:
    """Return the partition and the prefix of a calendar's former versions, beside the notes of its uses."""
    return {"pk": f"{key.tenant}#!!{key.name}", "sk": CALENDAR}


def eras_in(owner: str) -> Key:
    """Return the partition and the prefix of the eras; no tenant's row has a key without a `#`."""
    return {"pk": owner.upper(), "sk": "ERA#"}


def former_key(within: Key, order: tuple[int, str]) -> Key:
    """Return the key of a former row, by its order within its owner's range."""
    number, text = order
    return {"pk": within["pk"], "sk": f"{within['sk']}{number:015d}#{text}"}


def use_key(key: CalendarKey, job: JobKey) -> Key:
    """Return the key of the note that a job may name a calendar; no resource has a name with such a mark."""
    return {"pk": f"{key.tenant}#!!{key.name}", "sk": f"{USE}{job.job_id}"}


def tenant_key(tenant: str) -> str:
    """Return the partition of a tenant's rows that belong to no job; no job's id has such a mark."""
    return f"{tenant}#!"


def revision_key(revision: RevisionId) -> Key:
    """Return the key of the row of a revision that its job no longer has."""
    sk = f"REVISION#{revision.created_at:015d}#{revision.version:010d}"
    return {"pk": job_key(revision.job)["pk"], "sk": sk}


def announcement_key(announced: Announcement, list_shards: int) -> Key:
    """Return the key of an announcement: its sort key holds all its content, in the order of announcements."""
    job = announced.job
    about = f"{job.job_id}#{announced.version:010d}#{announced.fire_at:015d}#{announced.asked}#{announced.key_id}"
    return {
        "pk": announcements_of(job.tenant, shard_of(job, list_shards)),
        "sk": f"{announcement_bound(announced.at)}#{about}",
    }


def announcements_of(tenant: str, list_shard: int) -> str:
    """Return the partition of a tenant's announcements in a shard; no job or resource has a name with such a mark."""
    return f"{tenant}#!#{list_shard:04d}"


def announcement_bound(at: int) -> str:
    """Return the prefix of the sort keys of all announcements of an instant (ms)."""
    return f"{ANNOUNCED}{at:015d}"


def announcement_in(tenant: str, sk: str) -> Announcement:
    """Return the announcement in a sort key."""
    _, at, job_id, version, fire_at, asked, key_id = sk.split("#", 6)
    return Announcement(int(at), JobKey(tenant, job_id), int(version), int(fire_at), asked, key_id)


def task_version_key(ref: TaskRef) -> Key:
    """Return the key of the row of a replaced version of a task."""
    return {"pk": TASKS.key_of(ref.key)["pk"], "sk": f"VERSION#{ref.version or 0:012d}"}


def request_key(name: tuple[JobKey, str]) -> Key:
    """Return the key of the note when a client's request to a job took effect."""
    key, request = name
    digest = hashlib.blake2b(request.encode(), digest_size=16).hexdigest()
    return {"pk": job_key(key)["pk"], "sk": f"REQUEST#{digest}"}


def event_key(event: tuple[str, str]) -> Key:
    """Return the key of the note when a tenant's event was accepted; nothing else has a name with such a mark."""
    tenant, name = event
    return {"pk": f"{tenant}#!@{name}", "sk": "EVENT"}


def hour_key(key: HourKey) -> Key:
    """Return the key of the counts of a tenant's hour; no job or resource has a name with such a mark."""
    return {"pk": f"{key.tenant}#!", "sk": f"{hour_bound(key.began_at)}#{key.subject}"}


def hour_bound(at: int) -> str:
    """Return the prefix of the sort keys of all hours that began at an instant (ms)."""
    return f"{HOUR}{at:015d}"


def hour_of_row(tenant: str, sk: str) -> HourKey:
    """Return the hour that a sort key names."""
    _, began_at, subject = sk.split("#", 2)
    return HourKey(tenant, int(began_at), subject)


def window_key(window: CountWindow) -> Key:
    """Return the key of the count of a window; no job, resource or task has a name with such a mark."""
    return {"pk": f"{window.tenant}#!?{window.name}", "sk": f"WINDOW#{window.from_at:015d}"}


def owner_of_row(pk: str, sk: str) -> Owned:
    """Return the job, the run, the backfill, the operation or the limiter of these keys."""
    if sk == JOB:
        return job_of(pk)
    if sk == OPERATIONS.sk:
        return OPERATIONS.name_in(pk, sk)
    if sk == LIMITERS.sk:
        return LIMITERS.name_in(pk, sk)
    if sk.startswith(BACKFILL):
        return backfill_in(pk, sk)
    _, fire_at, origin, *others = sk.split("#")
    series, generation = [*others, "", "1"][:2] if len(others) != 1 else (others[0], "1")
    return RunId(job_of(pk), int(fire_at), Origin(origin), series, int(generation))


def key_of(owned: Owned) -> Key:
    """Return the keys of an owner of an entry in the due index."""
    if isinstance(owned, JobKey):
        return job_key(owned)
    if isinstance(owned, OperationKey):
        return OPERATIONS.key_of(owned)
    if isinstance(owned, LimiterKey):
        return LIMITERS.key_of(owned)
    return run_key(owned) if isinstance(owned, RunId) else backfill_key(owned)


def listed_of_row(pk: str, sk: str) -> Owned | TaskKey:
    """Return the resource that the listing names by these keys."""
    return TASKS.name_in(pk, sk) if sk == TASKS.sk else owner_of_row(pk, sk)


def due_bucket(shard: int, at: int) -> str:
    """Return the due index's partition of a shard on the UTC day of an instant (ms)."""
    return f"{at // DAY_MS:06d}#{shard:04d}"


def list_key(tenant: str, state: str, name: str, list_shards: int) -> str:
    """Return the listing's partition of a name: in JOBS, DEAD, REGISTERED, OPERATION, or a part of the jobs."""
    return list_partition(tenant, state, stratum_of(tenant, name, list_shards))


def by_task_key(key: JobKey, task_id: str, list_shards: int) -> str:
    """Return the partition of a task's jobs that contains a job."""
    return by_task_partition(TaskKey(key.tenant, task_id), shard_of(key, list_shards))


def by_task_partition(task: TaskKey, list_shard: int) -> str:
    """Return the partition of the jobs of a task in a shard."""
    return f"{task.tenant}#{task.task_id}#{list_shard:04d}"


def list_partition(tenant: str, state: str, stratum: str) -> str:
    """Return the listing's partition of a tenant's entries in a state, in a stratum."""
    return f"{tenant}#{state}#{stratum}"


def job_of(pk: str) -> JobKey:
    """Return the job of an item collection."""
    tenant, job_id = pk.split("#")
    return JobKey(tenant, job_id)


def line_partition(key: LimiterKey, permit: Permit) -> str:
    """Return the listing's partition of the runs that wait in a line; no status has a name with such a mark."""
    return list_partition(key.tenant, f"!{permit}", key.name)


def notable_key(run: Run, list_shards: int) -> str:
    """Return the partition of notable runs that contains a run: by its tenant, its state, and a hash of its id."""
    shard = int(fraction_of("notable", run.id.job.tenant, run.id) * list_shards)
    return notable_partition(run.id.job.tenant, run.state, shard)


def notable_partition(tenant: str, state: RunState, list_shard: int) -> str:
    """Return the partition of a tenant's notable runs in a state, in a shard."""
    return list_partition(tenant, state, f"{list_shard:04d}")
