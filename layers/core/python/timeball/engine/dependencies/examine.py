"""Check the dependencies that jobs ask for: each parent exists, no job waits for itself, and no graph is too large.

A walk goes up level by level, with one read a level. A new job can close a circle only within its own request, or if an
open job still names an expired job of the same id: then that id has edges. Without such edges, the walk is needed only
if the parents' rows cannot rule out too many ancestors. The walks of one request read each row once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.dependency import MOST_PARENT_BYTES, Edge, parent_bytes
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant
from timeball.domain.time.schedule import At, Cron, Every, OnEvents, Schedule, Timing
from timeball.domain.time.stepper import clock_policies
from timeball.engine.context import Context

ANY: Mapping[str, str] = MappingProxyType({})
"""No bounds."""
_WALK_MS = 8_000
"""How long an examination walks up a graph: a request may examine a job twice, and has time left to answer."""
_UNKNOWN = "a job that you do not see"
_TOO_DEEP = (
    f"The jobs above it form so many levels that they were not all read within {_WALK_MS // SECOND_MS} s; split the "
    "graph."
)
_PROPOSED_MS = MINUTE_MS
"""How long proposed parents count: longer than the request that proposed them lasts."""


@dataclass(frozen=True)
class ParentFault:
    """A fault in the parents of a job: in one of them, given by its index, or in all together."""

    sentence: str
    index: int | None = None


@dataclass(frozen=True)
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
    asked = [spec for spec in specs if spec.depends_on]
    if not asked:
        return [Examined(spec) for spec in specs]
    keys = list(dict.fromkeys(parent for spec in asked for parent in spec.parent_keys))
    rows = dict(zip(keys, context.store.jobs.read(keys), strict=True))
    own = [spec.key for spec in asked]
    named = _with_edges(context, own) if before is None else set(own)
    had = before.parent_keys if before else []
    examination = _Examination(context, within, now, rows, had, named, above={**rows})
    for spec in specs:
        examination.together[spec.key] = examination.examine(spec) if spec.depends_on else Examined(spec)
    return list(examination.together.values())


def _with_edges(context: Context, keys: Sequence[JobKey]) -> set[JobKey]:
    """Return the ids that have edges to children: those of expired jobs with the same ids."""
    return {key for key, children in zip(keys, context.store.edges.children(keys), strict=True) if children}


@dataclass(frozen=True)
class _Examination:
    """The examination of the specs of one request, in their order."""

    context: Context
    within: Mapping[str, str]
    """The tags of the jobs that the caller sees."""
    now: int
    rows: Mapping[JobKey, Job | None]
    """The jobs that the specs name, as they are stored."""
    had: Sequence[JobKey]
    """The parents that the job has already."""
    named: Collection[JobKey]
    """The examined jobs that others may depend on: existing jobs, and those with an expired job's edges."""
    together: dict[JobKey, Examined] = field(default_factory=dict)
    """The specs that are examined so far."""
    above: dict[JobKey, Job | None] = field(default_factory=dict)
    """The rows that were read so far."""
    counted: dict[frozenset[JobKey], int] = field(default_factory=dict)
    """How many ancestors the jobs with the same parents have, where a walk has counted them."""
    children: dict[JobKey, frozenset[JobKey]] = field(default_factory=dict)
    """The children of the parents that have some, as they are read once."""
    full: dict[JobKey, bool] = field(default_factory=dict)
    """Whether a parent with many children has no room for more, after those that have ended have made room."""

    def examine(self, spec: JobSpec) -> Examined:
        """Examine a spec with parents."""
        most = self.context.rules.max_parents
        if len(spec.depends_on) > most:
            sentence = f"A job may depend on at most {most} jobs; put another job in between."
            return Examined(spec, [ParentFault(sentence)])
        if parent_bytes(spec.depends_on) > MOST_PARENT_BYTES:
            sentence = "The ids and names of these jobs are too long to be stored together; put other jobs in between."
            return Examined(spec, [ParentFault(sentence)])
        faults = _faults(spec, self._unfit)
        if faults:
            return Examined(spec, faults)
        timed = self._timed(spec)
        too_deep, ancestors = self._depth(timed)
        return Examined(timed, [*_faults(timed, self._unshared), *too_deep], ancestors)

    def _parent(self, key: JobKey) -> JobSpec | None:
        """Return the spec of a parent that the caller sees."""
        if key in self.together:
            return self.together[key].spec
        row = self._seen(key)
        return None if row is None else row.spec

    def _seen(self, key: JobKey) -> Job | None:
        """Return the row of a parent, if the caller sees it."""
        row = self.rows.get(key)
        return row if key in self.had or _is_known(row, self.within) else None

    def _unfit(self, spec: JobSpec, key: JobKey) -> str | None:
        """Return why no job may depend on a parent as a spec does. A former parent that is gone is accepted."""
        parent = self._parent(key)
        if key == spec.key:
            return "A job cannot wait for itself; leave it out."
        if parent is None:
            is_gone = key in self.had and self.rows.get(key) is None
            return None if is_gone else "You have no job with this id; create it first."
        if isinstance(parent.schedule.timing, OnEvents) and key not in spec.cycle_keys:
            return "It runs on events and has no cycles of a schedule, so none is the latest; give another on."
        if key.job_id == spec.for_each and parent.for_each is not None:
            return "This job has a run for each item itself, and names none; add a job between."
        if not self._has_room(key, spec.key):
            return f"{self.context.rules.max_children} jobs depend on this one already, which is the maximum."
        return None

    def _timed(self, spec: JobSpec) -> JobSpec:
        """Return the spec of a job without a schedule of its own, with the recurrence of its parents, if one has any.

        Otherwise the job is a one-off, at the latest fire time of its parents.
        """
        if not spec.inherits:
            return spec
        schedules = [_inherited(parent) for key in spec.parent_keys if (parent := self._parent(key))]
        recurring = [schedule for schedule in schedules if not schedule.is_one_off]
        if recurring:
            return evolve(spec, schedule=recurring[0])
        timings = [schedule.timing for schedule in schedules]
        latest_at = max((timing.at for timing in timings if isinstance(timing, At)), default=None)
        if latest_at is None:  # all parents have expired since the job was created
            return spec
        return evolve(spec, schedule=evolve(spec.schedule, timing=At(latest_at)))

    def _unshared(self, spec: JobSpec, key: JobKey) -> str | None:
        """Return why a recurring parent has other fire times than a spec: runs of a cycle share their fire time."""
        parent = self._parent(key)
        if parent is None or parent.schedule.is_one_off or key not in spec.cycle_keys:
            return None
        its, own = _recurrence(_inherited(parent).timing), _recurrence(spec.schedule.timing)
        if its == own:
            return None
        if spec.schedule.is_one_off:
            return "This job recurs, so a job that waits for it must recur too; leave out the schedule that runs once."
        its, own = ({name: one[name] for name in one if its.get(name) != own.get(name)} for one in (its, own))
        of_own, advice = "this job", "give both the same, or leave it out"
        if spec.inherits:
            of_own, advice = "the first of these", "give all the same"
        return f"It recurs by {_stated(its)}, and {of_own} by {_stated(own)}; {advice}."

    def _has_room(self, parent: JobKey, child: JobKey) -> bool:
        """Return whether a job may depend on a parent. The parent's children are read once in a request."""
        row, most = self._seen(parent), self.context.rules.max_children
        if row is None or not row.has_children:
            return True
        if parent not in self.children:
            self.children[parent] = frozenset(self.context.store.edges.children([parent])[0])
        children = self.children[parent]
        if len(children) < most or child in children:
            return True
        if parent not in self.full:
            left = len(children) - _forget_ended_children(self.context, parent, sorted(children))
            self.full[parent] = left >= most
        return not self.full[parent]

    def _depth(self, spec: JobSpec) -> tuple[list[ParentFault], int]:
        """Count the ancestors of a job. Walk up if they may be too many, or if other jobs may depend on it already."""
        most = self.context.rules.max_ancestors
        nearest = [self.together.get(key) or self.rows[key] for key in spec.parent_keys]
        ancestors = sum(1 if one is None else 1 + one.ancestors for one in nearest)
        if spec.key not in self.named and ancestors <= most:
            return [], ancestors
        parents = frozenset(spec.parent_keys)
        if spec.key in self.named or parents not in self.counted:
            found = search_above(self.context, spec, self.together, self.above, self.now)
            if found.circle:
                return [ParentFault(circle_sentence(self._shown(found.circle, spec.key)))], len(found.ancestors)
            if not found.is_complete:
                return [ParentFault(_TOO_DEEP)], len(found.ancestors)
            self.counted[parents] = len(found.ancestors)
        ancestors = self.counted[parents]
        sentence = f"With its parents' parents it depends on more than {most} jobs; split the graph."
        return [ParentFault(sentence)] if ancestors > most else [], ancestors

    def _shown(self, circle: Sequence[JobKey], own: JobKey) -> list[str]:
        """Return the ids of a circle; a job that the caller does not see is not named."""
        seen = {own, *self.together, *(key for key, row in self.above.items() if _is_known(row, self.within))}
        return [key.job_id if key in seen else _UNKNOWN for key in circle]


def _recurrence(timing: Timing) -> dict[str, str]:
    """Return what decides about the fires of a recurrence, by the names of the API."""
    match timing:
        case Every(seconds, anchor_at):
            return {"everySeconds": str(seconds), "anchorAt": format_instant(anchor_at)}
        case Cron(expression, timezone):
            gap, overlap = clock_policies(parse_cron(expression), timing.gap, timing.overlap)
            policy = {"dstPolicy.gap": gap.value, "dstPolicy.overlap": overlap.value}
            return {"cronExpression": f'"{expression}"', "timezone": timezone, **policy}
        case OnEvents(of):
            return {"the events of": f'"{of}"'}
        case _:
            return {}


def _inherited(parent: JobSpec) -> Schedule:
    """Return the schedule that a job inherits from a parent: of a job on events, that job's events."""
    timing = parent.schedule.timing
    if isinstance(timing, OnEvents):
        timing = OnEvents(timing.of or parent.key.job_id)
    return evolve(parent.schedule, timing=timing, max_runs=None)


def _stated(recurrence: Mapping[str, str]) -> str:
    return " and ".join(f"{name} {value}" for name, value in recurrence.items())


def _faults(spec: JobSpec, check: Callable[[JobSpec, JobKey], str | None]) -> list[ParentFault]:
    """Return a fault for each parent of a spec in which a check finds one."""
    sentences = [check(spec, key) for key in spec.parent_keys]
    return [ParentFault(sentence, index) for index, sentence in enumerate(sentences) if sentence is not None]


def _is_known(row: Job | None, within: Mapping[str, str]) -> bool:
    return row is not None and within.items() <= row.spec.tags.items()


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


def naming_any(rows: Sequence[Job | None], parents: Collection[JobKey]) -> list[Job]:
    """Return the jobs that still name one of these parents. An edge only says that they named it once."""
    wanted = frozenset(parents)
    return [row for row in rows if row is not None and not wanted.isdisjoint(row.spec.parent_keys)]


def naming_in_cycle(rows: Sequence[Job | None], parents: Collection[JobKey]) -> list[Job]:
    """Return the jobs that still wait for one of these parents in their cycles, and not for its latest cycle."""
    wanted = frozenset(parents)
    return [row for row in rows if row is not None and not wanted.isdisjoint(row.spec.cycle_keys)]


def judging_any(rows: Sequence[Job | None], parents: Collection[JobKey]) -> list[Job]:
    """Return the jobs that are judged by latest cycles and still name one of these parents."""
    return [row for row in naming_any(rows, parents) if row.spec.judges_latest]


@dataclass(frozen=True)
class Above:
    """The findings of a walk up from a job: the circle that it would close, from it to itself, and its ancestors.

    `is_complete`: the walk has found all of these, or more than a job may have.
    """

    circle: Sequence[JobKey] = ()
    ancestors: Collection[JobKey] = ()
    is_complete: bool = True


def search_above(
    context: Context,
    spec: JobSpec,
    known: Mapping[JobKey, Examined],
    rows: dict[JobKey, Job | None],
    now: int,
) -> Above:
    """Walk up from a job. The walk stops when there are too many ancestors, or when it has taken too long.

    `rows` has the rows that were read, and gets those that are read now. Parents that other changes have proposed
    meanwhile count. Raises UnavailableError.
    """
    below: dict[JobKey, JobKey] = {}
    level = dict.fromkeys(spec.parent_keys, spec.key)
    while level and len(below) <= context.rules.max_ancestors:
        below |= level
        if spec.key in level:
            return Above(_path(below, spec.key), below.keys())
        if context.clock.now() >= now + _WALK_MS:
            return Above(ancestors=below.keys(), is_complete=False)
        _read_more(context, [key for key in level if key not in known], rows)
        above = {parent: key for key in level for parent in _named(known.get(key), rows.get(key), now)}
        level = {parent: key for parent, key in above.items() if parent not in below}
    return Above(ancestors=below.keys())


def _read_more(context: Context, keys: Sequence[JobKey], rows: dict[JobKey, Job | None]) -> None:
    """Read the rows that were not read yet."""
    unread = [key for key in keys if key not in rows]
    rows |= zip(unread, context.store.jobs.read(unread), strict=True)


def _named(known: Examined | None, row: Job | None, now: int) -> list[JobKey]:
    """Return the jobs that a job of the request, or else a stored one, depends on or may be about to depend on."""
    if known is not None:
        return known.spec.parent_keys
    if row is None:
        return []
    return [*row.spec.parent_keys, *(JobKey(row.key.tenant, job_id) for job_id in proposed_parents(row, now))]


def proposed_parents(row: Job, now: int) -> tuple[str, ...]:
    """Return the ids of the parents that changes propose for a job at the moment."""
    return row.proposed.parents if row.proposed is not None and now < row.proposed.at + _PROPOSED_MS else ()


def _path(below: Mapping[JobKey, JobKey], start: JobKey) -> list[JobKey]:
    """Return the path from a job down to itself, in reverse: each job waits for the next."""
    path, key = [start], below[start]
    while key != start:
        path.append(key)
        key = below[key]
    return [*path[:1], *path[:0:-1], start]


def circle_sentence(circle: Sequence[str]) -> str:
    """Return the sentence that describes a circle: each job waits for the next."""
    shown = circle if len(circle) <= 12 else [*circle[:6], "…", *circle[-5:]]
    return f"This closes a cycle, in which each job waits for the next: {' → '.join(shown)}."
