"""How a submitted job begins: its first fire, its place in the due index, its shard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timeball.domain.catch_up import CatchUp
from timeball.domain.errors import InvalidSchedule
from timeball.domain.ids import JobKey, shard_of
from timeball.domain.job import Completion, Guarantee, Job, Priority, Work
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.retry import RetryPolicy
from timeball.domain.schedule import Schedule, first_fire


@dataclass(frozen=True)
class JobSpec:
    """What a user asks for. `fingerprint` is a digest of the request: the same id may come again with the same one."""

    key: JobKey
    schedule: Schedule
    work: Work
    fingerprint: str
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    priority: Priority = Priority.NORMAL
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: int = 300
    completion: Completion = Completion.ANSWER
    heartbeat_seconds: int | None = None
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE
    catch_up: CatchUp = field(default_factory=CatchUp)
    overlap: OverlapPolicy = OverlapPolicy.ALLOW
    jitter_seconds: int = 0


def chosen(spec: JobSpec) -> dict[str, Any]:
    """Return the fields of a job that are as its user chose them, whatever its schedule and its work."""
    return {
        "name": spec.name,
        "tags": spec.tags,
        "priority": spec.priority,
        "retry": spec.retry,
        "timeout_seconds": spec.timeout_seconds,
        "completion": spec.completion,
        "heartbeat_seconds": spec.heartbeat_seconds,
        "delivery": spec.delivery,
        "catch_up": spec.catch_up,
        "overlap": spec.overlap,
        "jitter_seconds": spec.jitter_seconds,
    }


def new_job(spec: JobSpec, now: int, shards: int) -> Job:
    """Return the job's row as it is first stored. Raises InvalidSchedule if the schedule never fires from now on."""
    first_at = first_fire(spec.schedule, now)
    if first_at is None:
        raise InvalidSchedule("This schedule has no fire time left: its end lies before its first one.")
    return Job(
        key=spec.key,
        schedule=spec.schedule,
        work=spec.work,
        shard=shard_of(spec.key, shards),
        created_at=now,
        updated_at=now,
        **chosen(spec),
        next_fire_at=first_at,
        due_at=first_at,
        final_fire_at=first_at if spec.schedule.is_one_off else None,
        fingerprint=spec.fingerprint,
    )
