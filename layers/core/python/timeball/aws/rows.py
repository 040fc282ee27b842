"""The one mapper between values and rows.

A row that is updated is kept small, under 1 KB but for what its user put there, because every write is billed by the
whole row: work above 400 bytes stands in a row of its own, named by its digest and written once.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from timeball.aws.encoding import (
    attempt_text,
    callback_text,
    encode,
    intent_text,
    rules_text,
    schedule_text,
    to_attempt,
    to_callback,
    to_catch_up,
    to_intent,
    to_retry,
    to_rules,
    to_schedule,
    to_work,
    work_digest,
    work_text,
)
from timeball.aws.keys import (
    DEAD,
    backfill_key,
    due_bucket,
    host_key,
    job_key,
    job_of,
    list_key,
    owner_of_row,
    run_key,
    slots_key,
)
from timeball.aws.schema import SCHEMA_VERSION
from timeball.domain.backfill import Backfill, BackfillStatus
from timeball.domain.catch_up import CatchUp
from timeball.domain.host import Host, HostKey
from timeball.domain.ids import BackfillKey, JobKey, RunId
from timeball.domain.instants import DAY_MS, SECOND_MS
from timeball.domain.job import Completion, Guarantee, Job, JobSpec, JobStatus, Priority, Work
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.reason import Reason
from timeball.domain.retry import RetryPolicy
from timeball.domain.run import Run, RunState
from timeball.domain.slots import Slots
from timeball.setting import whole

Item = dict[str, str | int | bool]

INLINE_WORK_BYTES = 400


@dataclass(frozen=True)
class Mapper:
    """Turns values into rows: with how many listing shards, and how long an ended row is kept."""

    list_shards: int = whole(4, 1, 64, "Shards of the listing of one tenant's jobs in one state")
    retention_days: int = whole(90, 1, 3650, "How long finished jobs and runs are kept")

    def of_job(self, job: Job, now: int) -> Item:
        """Return a job's row, with its work if it was read. `now` is the time of writing, for the due bucket."""
        spec = job.spec
        row: dict[str, Any] = {
            **job_key(job.key),
            **work_fields(spec.work),
            "v": SCHEMA_VERSION,
            "schedule": schedule_text(spec.schedule),
            "shard": job.shard,
            "created_at": job.created_at,
            "listed_at": job.created_at,
            "updated_at": job.updated_at,
            "name": spec.name,
            "tags": encode(dict(spec.tags)) if spec.tags else None,
            "priority": spec.priority.value,
            "retry": encode(asdict(spec.retry)) if spec.retry != RetryPolicy() else None,
            "timeout_seconds": spec.timeout_seconds,
            "completion": spec.completion.value if spec.completion is not Completion.ANSWER else None,
            "heartbeat_seconds": spec.heartbeat_seconds,
            "delivery": spec.delivery.value if spec.delivery is not Guarantee.AT_LEAST_ONCE else None,
            "catch_up": encode(asdict(spec.catch_up)) if spec.catch_up != CatchUp() else None,
            "overlap": spec.overlap.value if spec.overlap is not OverlapPolicy.ALLOW else None,
            "jitter_seconds": spec.jitter_seconds or None,
            "status": job.status.value,
            "list_key": list_key(job.key, job.status, self.list_shards),
            "paused_at": job.paused_at,
            "next_fire_at": job.next_fire_at,
            **_due(job.due_at, job.shard, now),
            "final_fire_at": job.final_fire_at,
            "paced_until": job.paced_until or None,
            "runs_planned": job.runs_planned or None,
            "plan_failures": job.plan_failures or None,
            "holder": str(job.holder) if job.holder else None,
            "parked": str(job.parked) if job.parked else None,
            "intent": intent_text(job.intent) if job.intent else None,
            "rules": rules_text(job.rules),
            "live_from": job.live_from,
            "live_noted_at": job.live_noted_at,
            "fingerprint": spec.fingerprint,
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
            "work_digest": run.work_digest,
            "request": run.request,
            "fingerprint": run.fingerprint,
            "callback": callback_text(run.callback) if run.callback else None,
            "budget_from": run.budget_from or None,
            "budget_at": run.budget_at,
            "discarded_at": run.discarded_at,
            "held_since": run.held_since,
            "held_ms": run.held_ms or None,
        }
        if run.is_dead_letter:
            row |= {"list_key": list_key(run.id.job, DEAD, self.list_shards), "listed_at": run.finished_at}
        if run.is_terminal:
            row["expires_at"] = self.expiry(run.finished_at or now)
        return {name: value for name, value in row.items() if value is not None}

    def of_backfill(self, backfill: Backfill, now: int) -> Item:
        """Return a backfill's row. `now` is the time of writing, for the due bucket."""
        row: dict[str, Any] = {
            **backfill_key(backfill.key),
            "v": SCHEMA_VERSION,
            "schedule": schedule_text(backfill.schedule),
            "first_at": backfill.first_at,
            "last_at": backfill.last_at,
            "total": backfill.total,
            "pace_seconds": backfill.pace_seconds,
            "overlap": backfill.overlap.value,
            "shard": backfill.shard,
            "created_at": backfill.created_at,
            "updated_at": backfill.updated_at,
            "status": backfill.status.value,
            "next_fire_at": backfill.next_fire_at,
            **_due(backfill.due_at, backfill.shard, now),
            "last_run_at": backfill.last_run_at,
            "started": backfill.started,
            "skipped": backfill.skipped,
            "rules": rules_text(backfill.rules),
            "version": backfill.version,
            "revision": backfill.revision,
        }
        if backfill.status is not BackfillStatus.RUNNING:
            row["expires_at"] = self.expiry(backfill.updated_at)
        return {name: value for name, value in row.items() if value is not None}

    def of_host(self, host: Host, now: int) -> Item:
        """Return a host's row, which is forgotten a day after it was written."""
        row: dict[str, Any] = {
            **host_key(host.key),
            "v": SCHEMA_VERSION,
            "failures": host.failures,
            "rests": host.rests,
            "rests_until": host.rests_until,
            "is_probed": host.is_probed,
            "turn_at": host.turn_at,
            "revision": host.revision,
            "expires_at": (now + DAY_MS) // SECOND_MS,
        }
        return {name: value for name, value in row.items() if value is not None}

    def of_slots(self, slots: Slots, _: int) -> Item:
        """Return a tenant's slots as a row. It never expires: a backfill may take years."""
        return {
            **slots_key(slots.tenant),
            "v": SCHEMA_VERSION,
            "held": _names(slots.held),
            "line": _names(slots.line),
            "revision": slots.revision,
        }

    def expiry(self, at: int) -> int:
        """Return when a row that ended at an instant is forgotten, in whole seconds, as DynamoDB wants it."""
        return (at + self.retention_days * DAY_MS) // SECOND_MS


def work_fields(work: Work | None) -> Item:
    """Return the fields of a job's row that say where its work stands; none for work that was not read."""
    if work is None:
        return {}
    text = work_text(work)
    return {"work": text} if len(text.encode()) <= INLINE_WORK_BYTES else {"work_digest": work_digest(text)}


def to_job(row: dict[str, Any]) -> Job:
    """Return the job that a row holds, with its work if that stands in the row too."""
    key = job_of(row["pk"])
    spec = JobSpec(
        key=key,
        schedule=to_schedule(json.loads(row["schedule"])),
        work=to_work(row["work"]) if "work" in row else None,
        name=row.get("name"),
        tags=json.loads(row["tags"]) if "tags" in row else {},
        priority=Priority(row["priority"]),
        retry=to_retry(json.loads(row["retry"])) if "retry" in row else RetryPolicy(),
        timeout_seconds=row["timeout_seconds"],
        completion=Completion(row.get("completion", Completion.ANSWER)),
        heartbeat_seconds=row.get("heartbeat_seconds"),
        delivery=Guarantee(row.get("delivery", Guarantee.AT_LEAST_ONCE)),
        catch_up=to_catch_up(json.loads(row["catch_up"])) if "catch_up" in row else CatchUp(),
        overlap=OverlapPolicy(row.get("overlap", OverlapPolicy.ALLOW)),
        jitter_seconds=row.get("jitter_seconds", 0),
        fingerprint=row.get("fingerprint"),
    )
    return Job(
        spec,
        shard=row["shard"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        status=JobStatus(row["status"]),
        paused_at=row.get("paused_at"),
        next_fire_at=row.get("next_fire_at"),
        due_at=row.get("due_at"),
        final_fire_at=row.get("final_fire_at"),
        paced_until=row.get("paced_until", 0),
        runs_planned=row.get("runs_planned", 0),
        plan_failures=row.get("plan_failures", 0),
        holder=RunId.parse(key.tenant, row["holder"]) if "holder" in row else None,
        parked=RunId.parse(key.tenant, row["parked"]) if "parked" in row else None,
        intent=to_intent(json.loads(row["intent"])) if "intent" in row else None,
        live_from=row.get("live_from"),
        live_noted_at=row.get("live_noted_at"),
        rules=to_rules(row),
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
        work_digest=row.get("work_digest"),
        request=row.get("request"),
        fingerprint=row.get("fingerprint"),
        callback=to_callback(row["callback"]) if "callback" in row else None,
        budget_from=row.get("budget_from", 0),
        budget_at=row.get("budget_at"),
        discarded_at=row.get("discarded_at"),
        held_since=row.get("held_since"),
        held_ms=row.get("held_ms", 0),
    )


def to_backfill(row: dict[str, Any]) -> Backfill:
    """Return the backfill that a row holds."""
    key = owner_of_row(row["pk"], row["sk"])
    if not isinstance(key, BackfillKey):
        raise TypeError(f"{row['sk']} is no backfill")
    return Backfill(
        key=key,
        schedule=to_schedule(json.loads(row["schedule"])),
        first_at=row["first_at"],
        last_at=row["last_at"],
        total=row["total"],
        pace_seconds=row["pace_seconds"],
        overlap=OverlapPolicy(row["overlap"]),
        shard=row["shard"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        status=BackfillStatus(row["status"]),
        next_fire_at=row.get("next_fire_at"),
        due_at=row.get("due_at"),
        last_run_at=row.get("last_run_at"),
        started=row["started"],
        skipped=row["skipped"],
        rules=to_rules(row),
        version=row["version"],
        revision=row["revision"],
    )


def to_host(row: dict[str, Any]) -> Host:
    """Return the host that a row holds."""
    return Host(
        key=HostKey(*row["pk"].split("#!", 1)),
        failures=row["failures"],
        rests=row["rests"],
        rests_until=row.get("rests_until"),
        is_probed=row["is_probed"],
        turn_at=row["turn_at"],
        revision=row["revision"],
    )


def to_slots(row: dict[str, Any]) -> Slots:
    """Return the slots that a row holds."""
    tenant = row["pk"].removesuffix("#!")
    return Slots(tenant, _keys(tenant, row["held"]), _keys(tenant, row["line"]), row["revision"])


def _names(keys: Sequence[BackfillKey]) -> str:
    return " ".join(f"{key.job.job_id}.{key.name}" for key in keys)


def _keys(tenant: str, names: str) -> tuple[BackfillKey, ...]:
    parts = [name.split(".") for name in names.split()]
    return tuple(BackfillKey(JobKey(tenant, job_id), name) for job_id, name in parts)


def _due(due_at: int | None, shard: int, now: int) -> dict[str, Any]:
    """Return the due key: on the day of the due time, or of the writing if later, so that no scan is past it."""
    if due_at is None:
        return {}
    return {"due_at": due_at, "due_bucket": due_bucket(shard, max(due_at, now))}
