"""The present state of a tenant: health, findings that need attention, runs under way, and the fires to come.

Health, the runs that are late, blocked or under way, and the groups of dead letters are live, from the index of notable
runs. The parts that need all jobs come from a digest (engine/digest.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.freeze import Freeze
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.run_ends.recent import is_under_way
from timeball.domain.usage.attention import Attention, Concern, WaitsFor, held_by, of_run
from timeball.domain.usage.hours import Figures
from timeball.engine.blackouts.freezes import freezes_of
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.digest import Digest, read_digest
from timeball.engine.runs.dead_letters import DeadGroup, groups_of
from timeball.engine.runs.notable_runs import RunFilter, Span, among, notable_runs
from timeball.engine.stats import oldest_due, read_windows

MOST_RUNS = 50
"""How many live runs are read: those with the earliest start."""
MOST_DEAD = 30
"""How many dead letters are read: the newest."""
MOST_SHOWN = 100
"""How many findings are shown: those that last longest."""
_EXPLAINED = 5
"""How many late runs are explained by their jobs: each costs half a read unit."""
_LIVE = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.RETRYING})


@dataclass(frozen=True)
class Health:
    """Whether the scheduler is alive and on time. Instants are in ms."""

    last_tick_at: int | None
    """When the ticker last noted that it ticks."""
    oldest_due_at: int | None
    """When the oldest entry was due that the tenant has in the due index and the scan has not processed; None: none."""
    lateness: Figures | None
    """The figures of the last hour; None: the caller sees only some jobs."""


@dataclass(frozen=True)
class Now:
    """A tenant's present state."""

    health: Health
    needs_attention: tuple[Attention, ...]
    running: tuple[Run, ...]
    freezes: tuple[Freeze, ...]
    groups: tuple[DeadGroup, ...]
    digest: Digest | None
    """The parts that need all jobs; None: it is being made."""
    p95: Mapping[JobKey, int] = field(default_factory=dict)
    """How long 95 % of the runs of a job took (ms)."""


def read_now(context: Context, tenant: str, bounds: Mapping[str, str]) -> Now:
    """Return the present state of a tenant, or of its jobs within bounds. Raises UnavailableError."""
    now = context.clock.now()
    live = _runs(context, RunFilter(tenant, _LIVE, bounds=bounds), MOST_RUNS, Span(to_at=now, oldest_first=True))
    dead = _runs(context, RunFilter(tenant, frozenset({RunState.FAILED}), bounds=bounds), MOST_DEAD, Span())
    running = tuple(run for run in live if is_under_way(run))
    digest = read_digest(context, tenant, bounds, [run.id.job for run in running])
    p95 = {} if digest is None else digest.p95
    found = [*_of_runs(context, live, p95, now), *(() if digest is None else digest.needs_attention)]
    groups, _ = groups_of([run for run in dead if run.is_dead_letter], MOST_DEAD)
    return Now(
        _health(context, tenant, now, has_bounds=bool(bounds)),
        tuple(sorted(found, key=lambda one: (one.since, one.job, str(one.run or ""), one.kind))[:MOST_SHOWN]),
        running,
        tuple(one for one in freezes_of(context, tenant).open_at(now) if _is_seen(one, bounds)),
        tuple(groups),
        digest,
        p95,
    )


def _runs(context: Context, asked: RunFilter, most: int, span: Span) -> list[Run]:
    """Return the first runs of a part of the index of notable runs."""
    page = next(notable_runs(context, asked, most, span), [])
    return among(context, asked, page)


def _of_runs(context: Context, live: Sequence[Run], p95: Mapping[JobKey, int], now: int) -> list[Attention]:
    """Return the runs that need attention, the late ones with what they wait for if their jobs say so."""
    margin_ms = context.rules.margin_ms
    found = [one for run in live if (one := of_run(run, now, p95.get(run.id.job), margin_ms)) is not None]
    return explained(context, found, now, _EXPLAINED)


def explained(context: Context, found: Sequence[Attention], now: int, most: int) -> list[Attention]:
    """Return findings, with the obstacles of the first late runs whose rows name none, as their jobs and freezes say.

    `most` bounds these runs.
    """
    unknown = [one for one in found if one.kind is Concern.LATE and one.waits_for is None][:most]
    held = _held(context, [one.run for one in unknown if one.run is not None], now)
    return [replace(one, waits_for=held[one.run]) if one.run in held else one for one in found]


def _held(context: Context, runs: Sequence[RunId], now: int) -> dict[RunId | None, WaitsFor | None]:
    """Return what holds each run, as its job says; without the runs whose jobs no longer exist."""
    rows = context.store.jobs.read(list(dict.fromkeys(run.job for run in runs)), strong=False)
    jobs = {job.key: job for job in rows if job is not None}
    excluded = dict(zip(jobs, read_blackouts(context, list(jobs.values())), strict=True))
    return {run: held_by(run, jobs[run.job], excluded[run.job], now) for run in runs if run.job in jobs}


def _is_seen(freeze: Freeze, bounds: Mapping[str, str]) -> bool:
    """Say whether a caller may see a freeze: it means all jobs, or only jobs within the caller's bounds."""
    return freeze.match.everything or bounds.items() <= freeze.match.tags.items()


def _health(context: Context, tenant: str, now: int, *, has_bounds: bool) -> Health:
    lateness = None if has_bounds else read_windows(context, tenant, now, ("hour",))[0].total
    return Health(context.store.partitions.last_tick(0), oldest_due(context, tenant, now), lateness)
