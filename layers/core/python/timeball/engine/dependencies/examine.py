"""Check the dependencies that jobs ask for: each parent exists, no job waits for itself, and no graph is too large.

A walk goes up level by level, with one read a level. A new job can close a cycle only within its own request, or if an
open job still names an expired job of the same id: then that id has edges. Without such edges, the walk is needed only
if the parents' rows cannot rule out too many ancestors.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.dependency import Edge
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS
from timeball.domain.time.schedule import At, OnEvents
from timeball.engine.context import Context

ANY: Mapping[str, str] = MappingProxyType({})
"""No bounds."""
_UNKNOWN = "a job that you do not see"
PROPOSED_MS = MINUTE_MS
"""How long proposed parents count: longer than the request that proposed them lasts."""


@dataclass(frozen=True)
class ParentFault:
    """A fault in the parents of a job: in one of them, given by its index, or in all together."""

    sentence: str
    index: int | None = None


@dataclass
class Examined:
    """A spec with the schedule that it inherits, what is wrong with its parents, and at most how many ancestors."""

    spec: JobSpec
    faults: list[ParentFault] = field(default_factory=list)
    ancestors: int = 0


def examine(
    context: Context, specs: Sequence[JobSpec], within: Mapping[str, str] = ANY, *, before: JobSpec | None = None
) -> list[Examined]:
    """Examine the parents of specs. Specs of one request may name the specs before them.

    The caller sees only jobs with the tags of `within`. `before` is the spec of an existing job, which may have
    children already: the parents that it has are not examined for visibility again. Raises UnavailableError.
    """
    now = context.clock.now()
    asked = {spec.key: spec for spec in specs if spec.depends_on}
    if not asked:
        return [Examined(spec) for spec in specs]
    keys = dict.fromkeys(parent for spec in asked.values() for parent in spec.parent_keys)
    rows = dict(zip(keys, context.store.jobs.read(list(keys)), strict=True))
    named: Collection[JobKey] = _with_edges(context, list(asked)) if before is None else asked
    together: dict[JobKey, Examined] = {}
    for spec in specs:
        one = Examined(spec)
        if spec.depends_on:
            had = [] if before is None else before.parent_keys
            known = {key: row for key, row in rows.items() if key in had or _is_known(row, within)}
            gone = frozenset(key for key in had if rows.get(key) is None)
            one.faults += _unfit_parents(context, spec, known, together, gone)
            if not one.faults:
                one.spec = _timed(spec, rows, together)
                one.faults += _unshared(one.spec, rows, together)
                _examine_graph(context, one, rows, together, within, now, may_be_named=spec.key in named)
        together[spec.key] = one
    return list(together.values())


def _with_edges(context: Context, keys: Sequence[JobKey]) -> set[JobKey]:
    """Return the ids that have edges to children: those of expired jobs with the same ids."""
    return {key for key, children in zip(keys, context.store.edges.children(keys), strict=True) if children}


def _is_known(row: Job | None, within: Mapping[str, str]) -> bool:
    return row is not None and within.items() <= row.spec.tags.items()


def naming_any(rows: Sequence[Job | None], parents: Collection[JobKey]) -> list[Job]:
    """Return the jobs that still name one of these parents. An edge only says that they named it once."""
    wanted = frozenset(parents)
    return [row for row in rows if row is not None and not wanted.isdisjoint(row.spec.parent_keys)]


def cycle_of(
    context: Context, spec: JobSpec, known: Mapping[JobKey, Examined], within: Mapping[str, str], now: int
) -> tuple[list[str], int]:
    """Walk up from a job: return the cycle that it would close, from it to itself, and how many ancestors it has.

    Jobs that the caller may not see are not named. The walk stops when there are too many ancestors. Parents that other
    changes have proposed meanwhile count. Raises UnavailableError.
    """
    below: dict[JobKey, JobKey] = {}
    names = {spec.key: spec.key.job_id} | {key: key.job_id for key in known}
    level = dict.fromkeys(spec.parent_keys, spec.key)
    while level and len(below) <= context.rules.max_ancestors:
        below |= level
        if spec.key in level:
            return [names[key] for key in _path(below, spec.key)], len(below)
        read = [key for key in level if key not in known]
        rows = dict(zip(read, context.store.jobs.read(read), strict=True))
        names |= {key: key.job_id if _is_known(row, within) else _UNKNOWN for key, row in rows.items()}
        above: dict[JobKey, JobKey] = {}
        for key in level:
            above |= {parent: key for parent in _named(key, known, rows.get(key), now) if parent not in below}
        level = above
    return [], len(below)


def _named(key: JobKey, known: Mapping[JobKey, Examined], row: Job | None, now: int) -> list[JobKey]:
    if key in known:
        return known[key].spec.parent_keys
    if row is None:
        return []
    is_proposed = row.proposed is not None and now < row.proposed.at + PROPOSED_MS
    proposed = row.proposed.parents if row.proposed is not None and is_proposed else ()
    return [*row.spec.parent_keys, *(JobKey(key.tenant, job_id) for job_id in proposed)]


def _path(below: Mapping[JobKey, JobKey], start: JobKey) -> list[JobKey]:
    """Return the path from a job down to itself, in reverse: each job waits for the next."""
    path, key = [start], below[start]
    while key != start:
        path.append(key)
        key = below[key]
    return [*path[:1], *path[:0:-1], start]


def _unfit_parents(
    context: Context,
    spec: JobSpec,
    rows: Mapping[JobKey, Job | None],
    together: Mapping[JobKey, Examined],
    gone: Collection[JobKey],
) -> list[ParentFault]:
    """Return what is wrong with the parents of a spec. Former parents of its job that are `gone` are accepted."""
    faults = []
    if len(spec.depends_on) > context.rules.max_parents:
        return [
            ParentFault(f"A job may depend on at most {context.rules.max_parents} jobs; put another job in between.")
        ]
    for index, key in enumerate(spec.parent_keys):
        parent = _spec_of(key, rows, together)
        if key == spec.key:
            faults.append(ParentFault("A job cannot wait for itself; leave it out.", index))
        elif parent is None and key in gone:
            continue
        elif parent is None:
            faults.append(ParentFault("You have no job with this id; create it first.", index))
        elif isinstance(parent.schedule.timing, OnEvents):
            faults.append(
                ParentFault("It runs on events alone, outside any cycle; give it a schedule to wait for.", index)
            )
        elif key.job_id == spec.for_each and parent.for_each is not None:
            faults.append(
                ParentFault("This job has a run for each item itself, and names none; add a job between.", index)
            )
        elif not _has_room(context, key, rows.get(key), spec.key):
            most = context.rules.max_children
            faults.append(ParentFault(f"{most} jobs depend on this one already, which is the maximum.", index))
    return faults


def _has_room(context: Context, parent: JobKey, row: Job | None, child: JobKey) -> bool:
    if row is None or not row.has_children:
        return True
    most = context.rules.max_children
    (children,) = context.store.edges.children([parent])
    if len(children) < most or child in children:
        return True
    return len(children) - _forget_ended_children(context, parent, children) < most


def _forget_ended_children(context: Context, parent: JobKey, children: Sequence[JobKey]) -> int:
    """Forget the edges to jobs that have ended, are gone, or no longer depend on the parent; return their number.

    Edges that were noted within the hour stay: such a child may be about to be created, or to get this parent.
    """
    now, rows = context.clock.now(), context.store.jobs.read(children)
    over = [
        Edge(parent, key)
        for key, row in zip(children, rows, strict=True)
        if row is None or not row.is_open or parent not in row.spec.parent_keys
    ]
    context.store.edges.forget(over, now - HOUR_MS, now)
    return len(over)


def _spec_of(key: JobKey, rows: Mapping[JobKey, Job | None], together: Mapping[JobKey, Examined]) -> JobSpec | None:
    if key in together:
        return together[key].spec
    row = rows.get(key)
    return None if row is None else row.spec


def _timed(spec: JobSpec, rows: Mapping[JobKey, Job | None], together: Mapping[JobKey, Examined]) -> JobSpec:
    """Return the spec of a job without a schedule of its own, with the recurrence of its parents, if one has any.

    Otherwise the job is a one-off, at the latest fire time of its parents.
    """
    if not spec.inherits:
        return spec
    schedules = [parent.schedule for key in spec.parent_keys if (parent := _spec_of(key, rows, together))]
    recurring = [schedule for schedule in schedules if not schedule.is_one_off]
    if recurring:
        return evolve(spec, schedule=evolve(recurring[0], max_runs=None))
    timings = [schedule.timing for schedule in schedules]
    latest_at = max((timing.at for timing in timings if isinstance(timing, At)), default=None)
    if latest_at is None:  # all parents have expired since the job was created
        return spec
    return evolve(spec, schedule=evolve(spec.schedule, timing=At(latest_at)))


def _unshared(
    spec: JobSpec, rows: Mapping[JobKey, Job | None], together: Mapping[JobKey, Examined]
) -> Iterator[ParentFault]:
    """Yield a fault for each recurring parent with other fire times: runs of a cycle share their fire time."""
    for index, key in enumerate(spec.parent_keys):
        parent = _spec_of(key, rows, together)
        if parent is None or parent.schedule.is_one_off or parent.schedule.timing == spec.schedule.timing:
            continue
        if spec.schedule.is_one_off:
            yield ParentFault(
                "This job recurs, so a job that waits for it must recur too; leave out the schedule that runs once.",
                index,
            )
        elif spec.inherits:
            yield ParentFault(
                "Its recurrence differs from that of the first; give all the same recurrence and anchor.", index
            )
        else:
            yield ParentFault(
                "Its recurrence differs from that of this job; give both the same, or leave it out.", index
            )


def _examine_graph(
    context: Context,
    one: Examined,
    rows: Mapping[JobKey, Job | None],
    together: Mapping[JobKey, Examined],
    within: Mapping[str, str],
    now: int,
    *,
    may_be_named: bool,
) -> None:
    """Count the ancestors of a job. Walk up if they may be too many, or if other jobs may depend on it already."""
    most = context.rules.max_ancestors
    for key in one.spec.parent_keys:
        above = together.get(key) or rows[key]
        one.ancestors += 1 + (0 if above is None else above.ancestors)
    if not may_be_named and one.ancestors <= most:
        return
    cycle, one.ancestors = cycle_of(context, one.spec, together, within, now)
    if cycle:
        one.faults.append(ParentFault(cycle_sentence(cycle)))
    elif one.ancestors > most:
        one.faults.append(
            ParentFault(f"With its parents' parents it depends on more than {most} jobs; split the graph.")
        )


def cycle_sentence(cycle: Sequence[str]) -> str:
    """Return the sentence that describes a cycle: each job waits for the next."""
    shown = cycle if len(cycle) <= 12 else [*cycle[:6], "…", *cycle[-5:]]
    return f"This closes a cycle, in which each job waits for the next: {' → '.join(shown)}."
