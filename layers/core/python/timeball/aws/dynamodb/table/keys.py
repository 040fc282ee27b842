"""Where rows stand: partition and sort keys, the partitions of the indexes, and back from keys to what they name."""

import hashlib

from timeball.aws.dynamodb.table.strata import stratum_of
from timeball.domain.attempts.circuit_breaker import HostKey
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey, Origin, RunId, TaskKey, shard_of
from timeball.domain.model.jobs.revision import Announcement, RevisionId
from timeball.domain.model.jobs.task import TaskRef
from timeball.domain.model.runs.run import Part
from timeball.domain.model.terms.calendar import CalendarKey
from timeball.domain.model.terms.dependency import Edge
from timeball.domain.model.terms.event import SubscriptionKey
from timeball.domain.model.terms.flow import UniqueKey
from timeball.domain.time.instants import DAY_MS
from timeball.domain.usage.hours import HourKey
from timeball.ports.registers.due_index import Owned
from timeball.ports.registers.windows import Window

Key = dict[str, str]

JOB = "JOB"
RUN = "RUN#"
BACKFILL = "BACKFILL#"
CHILD = "CHILD#"
HOST = "HOST"
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
"""Where the secret stands with which Timeball signs; no tenant has a row without a `#`."""
LAST = "~"
"""Sorts after every character of a sort key."""
JOBS = "jobs"
DEAD = "dead"
"""What stands for the status in the listing's partition of dead letters."""
REGISTERED = "task"
"""What stands for the status in the listing's partition of tasks."""
OPERATIONS = "operation"
"""What stands for the status in the listing's partition of bulk operations."""


def job_key(key: JobKey) -> Key:
    """Return where a job's row stands."""
    return {"pk": f"{key.tenant}#{key.job_id}", "sk": JOB}


def run_key(run: RunId) -> Key:
    """Return where a run's row stands: in its job's item collection, by fire time."""
    series = f"#{run.series}" if run.series else ""
    return {"pk": job_key(run.job)["pk"], "sk": f"{run_bound(run.fire_at)}#{run.origin}{series}"}


def run_bound(fire_at: int) -> str:
    """Return what the sort keys of all runs of a fire time begin with."""
    return f"{RUN}{fire_at:015d}"


def attempt_key(run: RunId, number: int) -> Key:
    """Return where a finished attempt's own row stands."""
    return {"pk": run_key(run)["pk"], "sk": f"{attempts_prefix(run)}{number:06d}"}


def attempts_prefix(run: RunId) -> str:
    """Return what the sort keys of a run's attempts begin with."""
    return f"RESULT#{run.fire_at:015d}#{run.origin}{run.series}#"


def work_key(key: JobKey, digest: str) -> Key:
    """Return where a job's large work stands."""
    return {"pk": job_key(key)["pk"], "sk": f"PAYLOAD#{digest}"}


def backfill_key(key: BackfillKey) -> Key:
    """Return where a backfill's row stands."""
    return {"pk": job_key(key.job)["pk"], "sk": f"{BACKFILL}{key.name}"}


def edge_key(edge: Edge) -> Key:
    """Return where it stands that a job depends on another: in the parent's item collection."""
    return {"pk": job_key(edge.parent)["pk"], "sk": f"{CHILD}{edge.child.job_id}"}


def host_key(key: HostKey) -> Key:
    """Return where the row of a host stands that a tenant calls; no job has an id with such a mark."""
    return {"pk": f"{key.tenant}#!{key.host}", "sk": HOST}


def slots_key(tenant: str) -> Key:
    """Return where it stands which of a tenant's backfills run; no job has an id with such a mark."""
    return {"pk": tenant_key(tenant), "sk": SLOTS}


def patterns_key(tenant: str) -> Key:
    """Return where it stands which patterns of events a tenant has."""
    return {"pk": tenant_key(tenant), "sk": PATTERNS}


def limiter_key(key: LimiterKey) -> Key:
    """Return where a limiter stands; no job, no host and no task has a name with such a mark."""
    return {"pk": f"{key.tenant}#!${key.name}", "sk": LIMITER}


def freezes_key(tenant: str) -> Key:
    """Return where a tenant's freezes stand."""
    return {"pk": tenant_key(tenant), "sk": FREEZES}


def calendar_key(key: CalendarKey) -> Key:
    """Return where a calendar stands."""
    return {"pk": tenant_key(key.tenant), "sk": f"{CALENDAR}{key.name}"}


def use_key(key: CalendarKey, job: JobKey) -> Key:
    """Return where it is noted that a job may name a calendar; no host has a name with such a mark."""
    return {"pk": f"{key.tenant}#!!{key.name}", "sk": f"{USE}{job.job_id}"}


def tenant_key(tenant: str) -> str:
    """Return the partition of what a tenant has beside its jobs; no job has an id with such a mark."""
    return f"{tenant}#!"


def revision_key(revision: RevisionId) -> Key:
    """Return where a revision is kept that its job no longer has."""
    sk = f"REVISION#{revision.created_at:015d}#{revision.version:010d}"
    return {"pk": job_key(revision.job)["pk"], "sk": sk}


def announcement_key(announced: Announcement, list_shards: int) -> Key:
    """Return where an announcement stands: all that it says is in the sort key, in the order of announcements."""
    job = announced.job
    about = f"{job.job_id}#{announced.version:010d}#{announced.fire_at:015d}#{announced.asked}#{announced.key_id}"
    return {
        "pk": announcements_of(job.tenant, shard_of(job, list_shards)),
        "sk": f"{announcement_bound(announced.at)}#{about}",
    }


def announcements_of(tenant: str, list_shard: int) -> str:
    """Return the partition of a tenant's announcements in a shard; no job, and no host, has a name with such a mark."""
    return f"{tenant}#!#{list_shard:04d}"


def announcement_bound(at: int) -> str:
    """Return what the sort keys of all announcements of an instant (ms) begin with."""
    return f"{ANNOUNCED}{at:015d}"


def announcement_in(tenant: str, sk: str) -> Announcement:
    """Return the announcement that a sort key is."""
    _, at, job_id, version, fire_at, asked, key_id = sk.split("#", 6)
    return Announcement(int(at), JobKey(tenant, job_id), int(version), int(fire_at), asked, key_id)


def task_key(key: TaskKey) -> Key:
    """Return where a task's row stands; no job and no host has a name with such a mark."""
    return {"pk": f"{key.tenant}#!!{key.task_id}", "sk": TASK}


def task_version_key(ref: TaskRef) -> Key:
    """Return where a version of a task stands that another has replaced."""
    return {"pk": task_key(ref.key)["pk"], "sk": f"VERSION#{ref.version or 0:012d}"}


def operation_key(key: OperationKey) -> Key:
    """Return where a bulk operation's row stands; no job, no host and no task has a name with such a mark."""
    return {"pk": f"{key.tenant}#!!!{key.name}", "sk": OPERATION}


def request_key(key: JobKey, request: str) -> Key:
    """Return where it is noted when a client's request took effect."""
    digest = hashlib.blake2b(request.encode(), digest_size=16).hexdigest()
    return {"pk": job_key(key)["pk"], "sk": f"REQUEST#{digest}"}


def event_key(tenant: str, name: str) -> Key:
    """Return where it is noted when an event was taken in; nothing else has a name with such a mark."""
    return {"pk": f"{tenant}#!@{name}", "sk": "EVENT"}


def subscription_row_key(key: SubscriptionKey) -> Key:
    """Return where a subscription stands; nothing else has a name with such a mark."""
    return {"pk": f"{key.tenant}#!~{key.digest}", "sk": SUBSCRIPTION}


def unique_row_key(key: UniqueKey) -> Key:
    """Return where it stands which job a unique key names; nothing else has a name with such a mark."""
    return {"pk": f"{key.tenant}#!={key.digest}", "sk": UNIQUE}


def hour_key(key: HourKey) -> Key:
    """Return where the counts of a tenant's hour stand; no job, and no host, has a name with such a mark."""
    return {"pk": f"{key.tenant}#!", "sk": f"{hour_bound(key.began_at)}#{key.subject}"}


def hour_bound(at: int) -> str:
    """Return what the sort keys of all hours begin with that began at an instant (ms)."""
    return f"{HOUR}{at:015d}"


def hour_of_row(tenant: str, sk: str) -> HourKey:
    """Return the hour that a sort key names."""
    _, began_at, subject = sk.split("#", 2)
    return HourKey(tenant, int(began_at), subject)


def intake_key(tenant: str) -> Key:
    """Return where it stands what a tenant took lately and may still take."""
    return {"pk": tenant_key(tenant), "sk": INTAKE}


def window_key(window: Window) -> Key:
    """Return where the count of a window stands; no job, no host and no task has a name with such a mark."""
    return {"pk": f"{window.tenant}#!?{window.name}", "sk": f"WINDOW#{window.from_at:015d}"}


def owner_of_row(pk: str, sk: str) -> Owned:
    """Return the job, the run, the backfill, the operation or the limiter whose keys these are."""
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
    """Return the keys of what stands in the due index."""
    if isinstance(owned, JobKey):
        return job_key(owned)
    if isinstance(owned, OperationKey):
        return operation_key(owned)
    if isinstance(owned, LimiterKey):
        return limiter_key(owned)
    return run_key(owned) if isinstance(owned, RunId) else backfill_key(owned)


def listed_of_row(pk: str, sk: str) -> Owned | TaskKey:
    """Return what the listing names by these keys."""
    return TaskKey(*pk.split("#!!", 1)) if sk == TASK else owner_of_row(pk, sk)


def due_bucket(shard: int, at: int) -> str:
    """Return the due index's partition of a shard on the UTC day of an instant (ms)."""
    return f"{at // DAY_MS:06d}#{shard:04d}"


def list_key(tenant: str, state: str, name: str, list_shards: int) -> str:
    """Return the partition of what a tenant calls so: of JOBS, DEAD, REGISTERED, OPERATIONS, or a part of its jobs."""
    return list_partition(tenant, state, stratum_of(tenant, name, list_shards))


def by_task_key(key: JobKey, task_id: str, list_shards: int) -> str:
    """Return the partition of the jobs of a task in which a job stands."""
    return by_task_partition(TaskKey(key.tenant, task_id), shard_of(key, list_shards))


def by_task_partition(task: TaskKey, list_shard: int) -> str:
    """Return the partition of the jobs of a task in a shard."""
    return f"{task.tenant}#{task.task_id}#{list_shard:04d}"


def list_partition(tenant: str, state: str, stratum: str) -> str:
    """Return the listing's partition of what a tenant has in a state, in a stratum."""
    return f"{tenant}#{state}#{stratum}"


def job_of(pk: str) -> JobKey:
    """Return the job whose item collection this is."""
    tenant, job_id = pk.split("#")
    return JobKey(tenant, job_id)


def line_partition(key: LimiterKey, part: Part) -> str:
    """Return the listing's partition of the runs that wait in a line; no status has a name with such a mark."""
    return list_partition(key.tenant, f"!{part}", key.name)
