"""The keys of rows: partition and sort keys, the partitions of the indexes, and back from keys to what they name."""

import hashlib

from timeball.aws.dynamodb.table.strata import stratum_of
from timeball.domain.attempts.circuit_breaker import CircuitKey
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey, Origin, RunId, TaskKey, shard_of
from timeball.domain.model.jobs.revision import Announcement, RevisionId
from timeball.domain.model.jobs.task import TaskRef
from timeball.domain.model.runs.run import Permit
from timeball.domain.model.terms.calendar import CalendarKey
from timeball.domain.model.terms.dependency import Edge
from timeball.domain.model.terms.event import SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey
from timeball.domain.time.instants import DAY_MS
from timeball.domain.usage.hours import HourKey
from timeball.ports.counters import CountWindow
from timeball.ports.due_index import Owned

Key = dict[str, str]

JOB = "JOB"
RUN = "RUN#"
BACKFILL = "BACKFILL#"
CHILD = "CHILD#"
CIRCUIT = "HOST"
SLOTS = "SLOTS"
PATTERNS = "PATTERNS"
HOUR = "HOUR#"
ANNOUNCED = "CHANGE#"
TASK = "TASK"
FREEZES = "FREEZES"
CALENDAR = "CALENDAR#"
INTAKE = "INTAKE"
LIMITER = "LIMITER"
USE = "USE#"
OPERATION = "OPERATION"
SUBSCRIPTION = "SUBSCRIPTION"
UNIQUE = "UNIQUE"
SIGNING: Key = {"pk": "SIGNING", "sk": "SECRET"}
"""The key of the secret with which Timeball signs; no tenant's row has a key without a `#`."""
LAST = "~"
"""Sorts after every character of a sort key."""
JOBS = "jobs"
DEAD = "dead"
"""Stands for the status in the listing's partition of dead letters."""
REGISTERED = "task"
"""Stands for the status in the listing's partition of tasks."""
OPERATIONS = "operation"
"""Stands for the status in the listing's partition of bulk operations."""


def job_key(key: JobKey) -> Key:
    """Return the key of a job's row."""
    return {"pk": f"{key.tenant}#{key.job_id}", "sk": JOB}


def run_key(run: RunId) -> Key:
    """Return the key of a run's row: in its job's item collection, by fire time."""
    series = f"#{run.series}" if run.series else ""
    return {"pk": job_key(run.job)["pk"], "sk": f"{run_bound(run.fire_at)}#{run.origin}{series}"}


def run_bound(fire_at: int) -> str:
    """Return the prefix of the sort keys of all runs of a fire time."""
    return f"{RUN}{fire_at:015d}"


def attempt_key(run: RunId, number: int) -> Key:
    """Return the key of a finished attempt's own row."""
    return {"pk": run_key(run)["pk"], "sk": f"{attempts_prefix(run)}{number:06d}"}


def attempts_prefix(run: RunId) -> str:
    """Return the prefix of the sort keys of a run's attempts."""
    return f"RESULT#{run.fire_at:015d}#{run.origin}{run.series}#"


def work_key(key: JobKey, digest: str) -> Key:
    """Return the key of the row of a job's large work."""
    return {"pk": job_key(key)["pk"], "sk": f"PAYLOAD#{digest}"}


def backfill_key(key: BackfillKey) -> Key:
    """Return the key of a backfill's row."""
    return {"pk": job_key(key.job)["pk"], "sk": f"{BACKFILL}{key.name}"}


def edge_key(edge: Edge) -> Key:
    """Return the key of an edge: in the parent's item collection."""
    return {"pk": job_key(edge.parent)["pk"], "sk": f"{CHILD}{edge.child.job_id}"}


def circuit_key(key: CircuitKey) -> Key:
    """Return the key of the row of a resource that a tenant calls; no job's id has such a mark."""
    return {"pk": f"{key.tenant}#!{key.resource}", "sk": CIRCUIT}


def slots_key(tenant: str) -> Key:
    """Return the key of the row of a tenant's backfill slots; no job's id has such a mark."""
    return {"pk": tenant_key(tenant), "sk": SLOTS}


def patterns_key(tenant: str) -> Key:
    """Return the key of the row of a tenant's event patterns."""
    return {"pk": tenant_key(tenant), "sk": PATTERNS}


def limiter_key(key: LimiterKey) -> Key:
    """Return the key of a limiter's row; no job, resource or task has a name with such a mark."""
    return {"pk": f"{key.tenant}#!${key.name}", "sk": LIMITER}


def freezes_key(tenant: str) -> Key:
    """Return the key of the row of a tenant's freezes."""
    return {"pk": tenant_key(tenant), "sk": FREEZES}


def calendar_key(key: CalendarKey) -> Key:
    """Return the key of a calendar's row."""
    return {"pk": tenant_key(key.tenant), "sk": f"{CALENDAR}{key.name}"}


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


def task_key(key: TaskKey) -> Key:
    """Return the key of a task's row; no job or resource has a name with such a mark."""
    return {"pk": f"{key.tenant}#!!{key.task_id}", "sk": TASK}


def task_version_key(ref: TaskRef) -> Key:
    """Return the key of the row of a replaced version of a task."""
    return {"pk": task_key(ref.key)["pk"], "sk": f"VERSION#{ref.version or 0:012d}"}


def operation_key(key: OperationKey) -> Key:
    """Return the key of a bulk operation's row; no job, resource or task has a name with such a mark."""
    return {"pk": f"{key.tenant}#!!!{key.name}", "sk": OPERATION}


def request_key(key: JobKey, request: str) -> Key:
    """Return the key of the note when a client's request took effect."""
    digest = hashlib.blake2b(request.encode(), digest_size=16).hexdigest()
    return {"pk": job_key(key)["pk"], "sk": f"REQUEST#{digest}"}


def event_key(tenant: str, name: str) -> Key:
    """Return the key of the note when an event was accepted; nothing else has a name with such a mark."""
    return {"pk": f"{tenant}#!@{name}", "sk": "EVENT"}


def subscription_row_key(key: SubscriptionKey) -> Key:
    """Return the key of a subscription's row; nothing else has a name with such a mark."""
    return {"pk": f"{key.tenant}#!~{key.digest}", "sk": SUBSCRIPTION}


def unique_row_key(key: UniqueKey) -> Key:
    """Return the key of a unique key's row; nothing else has a name with such a mark."""
    return {"pk": f"{key.tenant}#!={key.digest}", "sk": UNIQUE}


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


def budget_key(tenant: str) -> Key:
    """Return the key of the row of a tenant's reservations."""
    return {"pk": tenant_key(tenant), "sk": INTAKE}


def window_key(window: CountWindow) -> Key:
    """Return the key of the count of a window; no job, resource or task has a name with such a mark."""
    return {"pk": f"{window.tenant}#!?{window.name}", "sk": f"WINDOW#{window.from_at:015d}"}


def owner_of_row(pk: str, sk: str) -> Owned:
    """Return the job, the run, the backfill, the operation or the limiter of these keys."""
    if sk == OPERATION:
        return OperationKey(*pk.split("#!!!", 1))
    if sk == LIMITER:
        return LimiterKey(*pk.split("#!$", 1))
    job = job_of(pk)
    if sk == JOB:
        return job
    kind, *parts = sk.split("#")
    if f"{kind}#" == BACKFILL:
        return BackfillKey(job, parts[0])
    fire_at, origin, *series = parts
    return RunId(job, int(fire_at), Origin(origin), *series)


def key_of(owned: Owned) -> Key:
    """Return the keys of an owner of an entry in the due index."""
    if isinstance(owned, JobKey):
        return job_key(owned)
    if isinstance(owned, OperationKey):
        return operation_key(owned)
    if isinstance(owned, LimiterKey):
        return limiter_key(owned)
    return run_key(owned) if isinstance(owned, RunId) else backfill_key(owned)


def listed_of_row(pk: str, sk: str) -> Owned | TaskKey:
    """Return the resource that the listing names by these keys."""
    return TaskKey(*pk.split("#!!", 1)) if sk == TASK else owner_of_row(pk, sk)


def due_bucket(shard: int, at: int) -> str:
    """Return the due index's partition of a shard on the UTC day of an instant (ms)."""
    return f"{at // DAY_MS:06d}#{shard:04d}"


def list_key(tenant: str, state: str, name: str, list_shards: int) -> str:
    """Return the listing's partition of a name: in JOBS, DEAD, REGISTERED, OPERATIONS, or a part of the jobs."""
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
