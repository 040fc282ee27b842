"""The notable runs of a tenant: those that are late, running, waiting, failed, or ended otherwise than at once.

The index answers with whole rows, some of them a moment old, so no row of a run is read. A filter by tags reads the
jobs of the runs that were found.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import ordered_at
from timeball.domain.model.runs.run import LIVE, TERMINAL, Run, RunState
from timeball.domain.time.instants import LATEST
from timeball.engine.context import Context
from timeball.ports.rows import ListQuery

_AT_ONCE = 100


@dataclass(frozen=True)
class RunFilter:
    """Which runs of a tenant; None, or empty, means any. `tags` and `bounds` are tags that their jobs must have."""

    tenant: str
    states: frozenset[RunState] = frozenset()
    reason: Reason | None = None
    job: JobKey | None = None
    task_id: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    bounds: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_jobs(self) -> bool:
        """Whether only the jobs know which runs match."""
        return bool(self.tags or self.bounds)

    def matches(self, run: Run) -> bool:
        """Return whether a run's row matches."""
        fields = ((self.job, run.id.job), (self.task_id, run.task_id), (self.reason, run.reason))
        has_fields = all(asked is None or asked == has for asked, has in fields)
        return has_fields and (not self.states or run.state in self.states)

    def are_within(self, tags: Mapping[str, str]) -> bool:
        """Return whether a job with these tags matches."""
        return self.bounds.items() <= tags.items() and all(tags.get(key) == value for key, value in self.tags)


@dataclass(frozen=True)
class Span:
    """A part of the order of runs: from when to when (ms, both included), and its direction.

    `ended_by` bounds the runs that have ended: later ends are left out.
    """

    from_at: int = 0
    to_at: int = LATEST
    ended_by: int = LATEST
    oldest_first: bool = False


ALWAYS = Span()

Position = tuple[bool, int, RunId]
"""A place in the order of ends: whether the run is live, its `ordered_at`, and its id. Live runs come last."""


def position_of(run: Run) -> Position:
    """Return the position of a run in the order of ends."""
    return not run.is_terminal, ordered_at(run), run.id


def notable_runs(
    context: Context, asked: RunFilter, at_once: int, span: Span = ALWAYS, after: Position | None = None
) -> Iterator[list[Run]]:
    """Yield the notable runs of a tenant in pages of about `at_once` runs, by `position_of`: live ones are the newest.

    Only the tenant and the states of the filter are applied; `among` applies the rest. A page is read when it is asked
    for, and costs a read unit for about eight runs. Raises UnavailableError.
    """
    phases = [False, True] if span.oldest_first else [True, False]
    for is_live in phases if after is None else phases[phases.index(after[0]) :]:
        states = sorted((LIVE if is_live else TERMINAL) & (asked.states or frozenset(RunState)))
        behind = after[1:] if after is not None and after[0] is is_live else None
        to_at = span.to_at if is_live else min(span.to_at, span.ended_by)
        while states:
            query = ListQuery(asked.tenant, at_once, span.from_at, to_at, behind, span.oldest_first)
            page = context.store.runs.notable(states, query)
            if page:
                behind = ordered_at(page[-1]), page[-1].id
                yield page
            if len(page) < at_once:
                break
            at_once = max(at_once, _AT_ONCE)


def among(context: Context, asked: RunFilter, runs: Sequence[Run]) -> list[Run]:
    """Return the runs that match. Reads their jobs if only these know."""
    found = [run for run in runs if asked.matches(run)]
    keys = list(dict.fromkeys(run.id.job for run in found))
    within = jobs_within(context, asked, keys)
    return [run for run in found if run.id.job in within]


def jobs_within(context: Context, asked: RunFilter, keys: Sequence[JobKey]) -> frozenset[JobKey]:
    """Return the jobs whose tags match; a job that no longer exists has no tags."""
    if not asked.needs_jobs:
        return frozenset(keys)
    jobs = context.store.jobs.read(keys, strong=False)
    return frozenset(job.key for job in jobs if job is not None and asked.are_within(job.spec.tags))
