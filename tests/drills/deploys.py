"""Drills of deployments in the middle of traffic: two versions, other shards, other time zone data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tests.drills.deployment import Deployment, replaced
from tests.drills.drill import Drill, jobs, on_time
from tests.engine.play import spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.model.jobs.job import RuleSet
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.operation import JobMatch, Operation, OperationAction
from timeball.domain.planning.era import DEPLOYMENT, Era
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Cron
from timeball.engine.context import Rules
from timeball.engine.operations.operation import create_operation
from timeball.ports.rows import Swap

_CALL_MS = 4_000
_ERAS = 2
_HAVANA, _CARACAS = JobKey("acme", "havana"), JobKey("acme", "caracas")
_MOVED_BY = {_HAVANA: -30 * SECOND_MS, _CARACAS: 30 * SECOND_MS}
"""By how much the former data had the next fire of a job at another instant (ms)."""
_FORMER_DATA = "2019a"


def _busy(deployment: Deployment) -> None:
    deployment.submit(jobs(deployment, 6, 20))
    deployment.takes_ms = _CALL_MS


def _next_release(rules: Rules) -> Rules:
    return replace(rules, lookahead_seconds=8, lease_seconds=45, heartbeat_seconds=5, lead_seconds=4)


def _replace(deployment: Deployment, share: slice, rules: Rules) -> None:
    """Replace some of the processes, and end every other batch of messages in the middle of its work."""
    deployment.end_batches(2)
    deployment.scanners[share] = [replaced(part, rules) for part in deployment.scanners[share]]
    deployment.executors[share] = [replaced(part, rules) for part in deployment.executors[share]]


def _begin_to_deploy(deployment: Deployment) -> None:
    _replace(deployment, slice(0, None, 2), _next_release(deployment.rules))


def _go_on_to_deploy(deployment: Deployment) -> None:
    deployment.rules = _next_release(deployment.rules)
    _replace(deployment, slice(1, None, 2), deployment.rules)
    deployment.watcher = replaced(deployment.watcher, deployment.rules)


def _every_run_succeeds(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
    runs = [run for key in deployment.store.jobs for run in deployment.runs(key)]
    ended = [run for run in runs if run.id.fire_at < to_at]
    yield from (f"{run.id} is {run.state}" for run in ended if run.state is not RunState.SUCCEEDED)
    if not any(run.attempt > 1 and run.id.fire_at >= from_at - MINUTE_MS for run in runs):
        yield "no call was cut, so nothing was taken over"
    if len(deployment.store.eras.of_owner(DEPLOYMENT, 10)) < _ERAS:
        yield "there is no second era"


def _raise_shards(deployment: Deployment) -> None:
    _reshard(deployment, Rules(shards=8, runs_per_message=1), 3)
    deployment.submit([replace(one, key=JobKey("acme", f"more-{one.key.job_id}")) for one in jobs(deployment)])


def _lower_shards(deployment: Deployment) -> None:
    _reshard(deployment, Rules(shards=2, runs_per_message=1), 2)


def _reshard(deployment: Deployment, rules: Rules, partitions: int) -> None:
    deployment.rules, deployment.partitions = rules, partitions
    deployment.scanners = [replaced(part, rules) for part in deployment.scanners]
    deployment.executors = [replaced(part, rules) for part in deployment.executors]


def _all_on_time(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
    end_at = deployment.clock.now() - MINUTE_MS
    yield from on_time("normal")(deployment, from_at, end_at)
    yield from on_time("more")(deployment, from_at, end_at)
    yield from () if to_at < end_at else ("the drill is too short",)


def _with_crons(deployment: Deployment) -> None:
    zones = {_HAVANA: "America/Havana", _CARACAS: "America/Caracas"}
    crons = [spec(key.job_id, Cron("*/2 * * * *", zone)) for key, zone in zones.items()]
    deployment.submit([*jobs(deployment), *crons])


def _change_zones(deployment: Deployment) -> None:
    """Leave two jobs as the former release did, with other next fires. All processes are new, and an admin recovers."""
    now, former = deployment.clock.now(), RuleSet(tzdata=_FORMER_DATA)
    for key, moved_by in _MOVED_BY.items():
        job = deployment.store.jobs[key]
        assert job.next_fire_at is not None
        assert job.due_at is not None
        moved = evolve(job, next_fire_at=job.next_fire_at + moved_by, due_at=job.due_at + moved_by, rules=former)
        deployment.store.jobs.swap([Swap(job, moved)], now)
    era = Era(now, deployment.rules.misfire_ms, deployment.rules.lookahead_ms, rules=former)
    deployment.store.eras.note([(DEPLOYMENT, era)], now)
    _reshard(deployment, deployment.rules, deployment.partitions)
    _recover(deployment, now)


def _recover(deployment: Deployment, since: int) -> None:
    """Recover, as docs/how-to/upgrade.md says after a change of the time zone data."""
    asked = Operation(
        OperationKey(_HAVANA.tenant, "recovery"),
        OperationAction.RECOVER,
        JobMatch(),
        per_second=100,
        shard=0,
        created_at=since,
        updated_at=since,
        by=Actor("admin"),
        since=since,
        due_at=since,
    )
    create_operation(deployment.context(deployment.api), asked)


def _next_fires_by_new_data(deployment: Deployment, from_at: int, to_at: int) -> Iterator[str]:
    yield from on_time("normal")(deployment, from_at, to_at)
    for key in _MOVED_BY:
        yield from on_time(key.job_id)(deployment, from_at, to_at)
        fires = [run.id.fire_at for run in deployment.runs(key)]
        if any(later - earlier != 2 * MINUTE_MS for earlier, later in pairwise(fires)) or fires[0] % (2 * MINUTE_MS):
            yield f"{key.job_id} fires at {fires}, and not each even minute by the new data"
    if len(deployment.store.eras.of_owner(DEPLOYMENT, 10)) < _ERAS:
        yield "there is no new era"


DRILLS: Sequence[Drill] = (
    Drill(
        "deploy",
        "a deployment: half of the processes have other settings for six minutes, and each other batch of messages is "
        "cut in the middle of its calls, twice",
        _begin_to_deploy,
        {},
        "each run succeeds, those that were cut in their second attempt; a new era begins",
        _every_run_succeeds,
        mends=_go_on_to_deploy,
        begins=_busy,
        minutes=(1.45, 6, 8),
    ),
    Drill(
        "shards-raised",
        "a deployment with eight shards instead of four and three partitions instead of two; then one with two of each",
        _raise_shards,
        {},
        "all runs are on time, of jobs from before and after",
        _all_on_time,
        mends=_lower_shards,
    ),
    Drill(
        "time-zones-changed",
        "a deployment with other time zone data, by which the next fire of one job is later, and that of another job "
        "earlier; an admin recovers since then",
        _change_zones,
        {},
        "each fire is by the new data, none by the former, none is lost; a new era begins",
        _next_fires_by_new_data,
        mends=lambda _: None,
        begins=_with_crons,
    ),
)
