"""The one mapper between values and rows. Nested values are JSON text, so every attribute is text, a number or a flag.

A row that is updated stays under 1 KB, because every write is billed by the whole row: work above 400 bytes stands in a
row of its own, named by its digest and written once.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from timeball.aws.schema import SCHEMA_VERSION
from timeball.domain.ids import JobKey, Origin, RunId, shard_of
from timeball.domain.instants import DAY_MS, HOUR_MS, SECOND_MS
from timeball.domain.job import HttpTarget, Intent, Job, JobStatus, Priority, Verb, Work
from timeball.domain.retry import Jitter, RetryPolicy
from timeball.domain.run import Attempt, Outcome, Reason, Run, RunState
from timeball.domain.schedule import At, Cron, Every, Schedule, Timing
from timeball.domain.stepper import Gap, Overlap

Item = dict[str, str | int | bool]
Key = dict[str, str]

JOB = "JOB"
RUN = "RUN#"
INLINE_WORK_BYTES = 400


def job_key(key: JobKey) -> Key:
    """Return where a job's row stands."""
    return {"pk": f"{key.tenant}#{key.job_id}", "sk": JOB}


def run_key(run: RunId) -> Key:
    """Return where a run's row stands: in its job's item collection, by fire time."""
    return {"pk": f"{run.job.tenant}#{run.job.job_id}", "sk": f"{run_bound(run.fire_at)}#{run.origin}"}


def run_bound(fire_at: int) -> str:
    """Return what the sort keys of all runs of a fire time begin with."""
    return f"{RUN}{fire_at:015d}"


def attempt_key(run: RunId, number: int) -> Key:
    """Return where a finished attempt's own row stands."""
    return {"pk": run_key(run)["pk"], "sk": f"{attempts_prefix(run)}{number:06d}"}


def attempts_prefix(run: RunId) -> str:
    """Return what the sort keys of a run's attempts begin with."""
    return f"RESULT#{run.fire_at:015d}#{run.origin}#"


def work_key(key: JobKey, digest: str) -> Key:
    """Return where a job's large work stands."""
    return {"pk": job_key(key)["pk"], "sk": f"PAYLOAD#{digest}"}


def owner_of_row(pk: str, sk: str) -> JobKey | RunId:
    """Return the job or the run whose keys these are."""
    tenant, job_id = pk.split("#")
    if sk == JOB:
        return JobKey(tenant, job_id)
    _, fire_at, origin = sk.split("#")
    return RunId(JobKey(tenant, job_id), int(fire_at), Origin(origin))


def due_bucket(shard: int, at: int) -> str:
    """Return the due index's partition of a shard in the UTC hour of an instant (ms)."""
    return f"{at // HOUR_MS:08d}#{shard:04d}"


def list_key(key: JobKey, status: str, list_shards: int) -> str:
    """Return the listing's partition of a job in a status."""
    return f"{key.tenant}#{status}#{shard_of(key, list_shards):04d}"


def encode(value: object) -> str:
    """Return a nested value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Rows:
    """Turns values into rows: with how many listing shards, and how long an ended row is kept."""

    list_shards: int = 4
    retention_days: int = 90

    def of_job(self, job: Job, now: int) -> Item:
        """Return a job's row without its work. `now` is the time of writing, for the due bucket."""
        row: dict[str, Any] = {
            **job_key(job.key),
            "v": SCHEMA_VERSION,
            "schedule": _schedule_text(job.schedule),
            "shard": job.shard,
            "created_at": job.created_at,
            "updated_at": job.updated_at,
            "name": job.name,
            "tags": encode(dict(job.tags)) if job.tags else None,
            "priority": job.priority.value,
            "retry": encode(asdict(job.retry)) if job.retry != RetryPolicy() else None,
            "timeout_seconds": job.timeout_seconds,
            "status": job.status.value,
            "list_key": list_key(job.key, job.status, self.list_shards),
            "next_fire_at": job.next_fire_at,
            **_due(job.due_at, job.shard, now),
            "skip_through": job.skip_through,
            "final_fire_at": job.final_fire_at,
            "runs_planned": job.runs_planned or None,
            "plan_failures": job.plan_failures or None,
            "intent": encode(asdict(job.intent)) if job.intent else None,
            "fingerprint": job.fingerprint,
            "version": job.version,
            "schedule_version": job.schedule_version,
            "revision": job.revision,
        }
        if not job.is_open and job.intent is None:
            row["expires_at"] = self.expiry(job.updated_at)
        return {name: value for name, value in row.items() if value is not None}

    def of_run(self, run: Run, now: int) -> Item:
        """Return a run's row. `now` is the time of writing, for the due bucket."""
        row: dict[str, Any] = {
            **run_key(run.id),
            "v": SCHEMA_VERSION,
            "state": run.state.value,
            "stamp": run.stamp,
            "priority": run.priority,
            "shard": run.shard,
            "not_before": run.not_before,
            "created_at": run.created_at,
            "revision": run.revision,
            "attempt": run.attempt,
            "owner": run.owner,
            "claimed_at": run.claimed_at,
            "lease_until": run.lease_until,
            **_due(run.due_at, run.shard, now),
            "first_started_at": run.first_started_at,
            "finished_at": run.finished_at,
            "cancel_requested": run.cancel_requested or None,
            "carrier_failures": run.carrier_failures or None,
            "reason": run.reason.value if run.reason else None,
            "last": attempt_text(run.last) if run.last else None,
            "last_fire_at": run.last_fire_at,
            "count": run.count if run.count != 1 else None,
        }
        if run.is_terminal:
            row["expires_at"] = self.expiry(run.finished_at or now)
        return {name: value for name, value in row.items() if value is not None}

    def expiry(self, at: int) -> int:
        """Return when a row that ended at an instant is forgotten, in whole seconds, as DynamoDB wants it."""
        return (at + self.retention_days * DAY_MS) // SECOND_MS


def to_job(row: dict[str, Any], work: str | None = None) -> Job:
    """Return the job that a row holds; `work` is its text if it was read from a row of its own."""
    intent = json.loads(row["intent"]) if "intent" in row else None
    text = row.get("work", work)
    return Job(
        key=_job_of(row["pk"]),
        schedule=_to_schedule(json.loads(row["schedule"])),
        work=to_work(text) if text is not None else None,
        shard=row["shard"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        name=row.get("name"),
        tags=json.loads(row["tags"]) if "tags" in row else {},
        priority=Priority(row["priority"]),
        retry=_to_retry(json.loads(row["retry"])) if "retry" in row else RetryPolicy(),
        timeout_seconds=row["timeout_seconds"],
        status=JobStatus(row["status"]),
        next_fire_at=row.get("next_fire_at"),
        due_at=row.get("due_at"),
        skip_through=row.get("skip_through"),
        final_fire_at=row.get("final_fire_at"),
        runs_planned=row.get("runs_planned", 0),
        plan_failures=row.get("plan_failures", 0),
        intent=Intent(Verb(intent["verb"]), intent["asked_at"], intent["next_fire_at"]) if intent else None,
        fingerprint=row.get("fingerprint"),
        version=row["version"],
        schedule_version=row["schedule_version"],
        revision=row["revision"],
    )


def to_run(row: dict[str, Any]) -> Run:
    """Return the run that a row holds."""
    run_id = owner_of_row(row["pk"], row["sk"])
    if not isinstance(run_id, RunId):
        raise TypeError(f"{row['sk']} is no run")
    return Run(
        id=run_id,
        state=RunState(row["state"]),
        stamp=row["stamp"],
        priority=row["priority"],
        shard=row["shard"],
        not_before=row["not_before"],
        created_at=row["created_at"],
        revision=row["revision"],
        attempt=row["attempt"],
        owner=row.get("owner"),
        claimed_at=row.get("claimed_at"),
        lease_until=row.get("lease_until"),
        due_at=row.get("due_at"),
        first_started_at=row.get("first_started_at"),
        finished_at=row.get("finished_at"),
        cancel_requested=row.get("cancel_requested", False),
        carrier_failures=row.get("carrier_failures", 0),
        reason=Reason(row["reason"]) if "reason" in row else None,
        last=to_attempt(row["last"]) if "last" in row else None,
        last_fire_at=row.get("last_fire_at"),
        count=row.get("count", 1),
    )


def attempt_text(attempt: Attempt) -> str:
    """Return an attempt as text, without what is not known of it."""
    return encode({name: value for name, value in asdict(attempt).items() if value is not None})


def to_attempt(text: str) -> Attempt:
    """Return the attempt that a text holds."""
    found = json.loads(text)
    return Attempt(**{**found, "outcome": Outcome(found["outcome"])})


def work_text(work: Work) -> str:
    """Return work as text."""
    return encode(asdict(work))


def to_work(text: str) -> Work:
    """Return the work that a text holds."""
    found = json.loads(text)
    return Work(HttpTarget(**found["target"]), found["payload"])


def work_digest(text: str) -> str:
    """Return the name of a work text that stands in a row of its own."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _due(due_at: int | None, shard: int, now: int) -> dict[str, Any]:
    """Return the due key: in the hour of the due time, or of the writing if later, so that no scan is past it."""
    if due_at is None:
        return {}
    return {"due_at": due_at, "due_bucket": due_bucket(shard, max(due_at, now))}


def _job_of(pk: str) -> JobKey:
    tenant, job_id = pk.split("#")
    return JobKey(tenant, job_id)


_TIMINGS: dict[str, type[Timing]] = {"at": At, "every": Every, "cron": Cron}


def _schedule_text(schedule: Schedule) -> str:
    kind = next(name for name, timing in _TIMINGS.items() if isinstance(schedule.timing, timing))
    found = {name: value for name, value in asdict(schedule).items() if value is not None}
    timing = {name: value for name, value in asdict(schedule.timing).items() if value is not None}
    return encode({**found, "timing": {"kind": kind, **timing}})


def _to_schedule(found: dict[str, Any]) -> Schedule:
    timing = dict(found.pop("timing"))
    for name, policy in (("gap", Gap), ("overlap", Overlap)):
        if name in timing:
            timing[name] = policy(timing[name])
    return Schedule(_TIMINGS[timing.pop("kind")](**timing), **found)


def _to_retry(found: dict[str, Any]) -> RetryPolicy:
    return RetryPolicy(**{**found, "jitter": Jitter(found["jitter"])})
