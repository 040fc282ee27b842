"""Changes and their authors: a job's revisions, and the requests made in a tenant, the newest first.

An announcement about a job only names a change; the revision, or the triggered run, decides whether it happened. A
creation needs no announcement: the listing names each job by it. Other things have no revisions: the request is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.changes.resolve import resolve_spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs import revision
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.revision import Announcement, ChangeEntry, Revision, RevisionId, revision_of
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import Action, Actor, Resource
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import LATEST
from timeball.engine.context import Context
from timeball.engine.filtered_pages import Page, read_page
from timeball.engine.resolving import task_of
from timeball.ports.notes import ChangesQuery
from timeball.ports.rows import ListQuery

_MOST_PASSED = 200
"""How many newer revisions are searched at most to find the revision of a run."""


@dataclass(frozen=True)
class ChangeFilter:
    """Which changes: of a tenant, from `from_at` to `to_at` (ms, both included), of one job, by the key of one id."""

    tenant: str
    from_at: int = 0
    to_at: int = LATEST
    job: JobKey | None = None
    key_id: str | None = None

    def may_mean(self, announced: Announcement) -> bool:
        """Return whether an announcement may match. Only the job's row knows who created it."""
        is_by_key = self.key_id in (None, announced.key_id) or announced.version == 1
        return is_by_key and self.job in (None, announced.job)


def announce(context: Context, tenant: str, by: Actor, action: Action, resources: Sequence[Resource]) -> None:
    """Announce a request that changes anything but a job, before it is done. Raises UnavailableError."""
    now = context.clock.now()
    context.store.changes.note([revision.request_announced(tenant, one, action, by, now) for one in resources], now)


def list_revisions(
    context: Context, job: Job, limit: int, through: int | None = None
) -> tuple[list[ChangeEntry], int | None]:
    """Return the changes of a job from version `through` backwards, and where to continue. The job has its work."""
    newest = revision.outline(revision_of(job))
    through = newest.version if through is None else through
    behind = min(through, newest.version - 1)
    found = [newest] if through >= newest.version else []
    if behind > 0:
        found += context.store.changes.of_job(evolve(newest.id, version=behind), limit + 1)
    entries = [revision.entry_of(one, before) for one, before in zip(found, [*found[1:], None], strict=True)][:limit]
    return entries, found[limit].version if len(found) > limit else None


def list_changes(
    context: Context, asked: ChangeFilter, limit: int, after: tuple[int, Announcement] | None = None
) -> Page[ChangeEntry, Announcement]:
    """Return a page of the requests. Raises UnavailableError."""

    def name(at_once: int, behind: tuple[int, Announcement] | None) -> list[tuple[int, Announcement]]:
        last = None if behind is None else behind[1]
        query = ChangesQuery(asked.tenant, at_once, asked.from_at, asked.to_at, asked.job, last)
        named = [*context.store.changes.announced(query), *_created(context, asked, at_once, last)]
        return [(one.at, one) for one in sorted(named, reverse=True)[:at_once]]

    def read(named: Sequence[Announcement]) -> list[ChangeEntry | None]:
        meant = [one for one in named if asked.may_mean(one)]
        entries = dict(zip(meant, _entries(context, meant), strict=True))
        # Each once: where an index lags, a job may be listed under two statuses.
        found = [entries.pop(one, None) for one in named]
        return [one if one is not None and asked.key_id in (None, one.by.key_id) else None for one in found]

    return read_page(name, read, limit, after)


def retry_policy_of(context: Context, run: Run) -> RetryPolicy | None:
    """Return the retry policy that a run's job had at its newest attempt; None if no revision of that time is kept.

    Terms that the job leaves to its task are those of the version that the run uses.
    """
    job = context.store.jobs.read([run.id.job])[0]
    spec = None if job is None else _spec_at_newest_attempt(context, job, run)
    return None if spec is None else resolve_spec(task_of(context, run), spec).retry


def _spec_at_newest_attempt(context: Context, job: Job, run: Run) -> JobSpec | None:
    at = LATEST if not run.is_terminal else run.last.claimed_at if run.last else run.finished_at or run.created_at
    if job.change.at <= at:
        return job.spec
    kept = context.store.changes.of_job(evolve(revision_of(job).id, version=job.version - 1), _MOST_PASSED)
    return next((one.spec for one in kept if one.change.at <= at), None)


def _created(context: Context, asked: ChangeFilter, limit: int, last: Announcement | None) -> list[Announcement]:
    """Return the creations of jobs, as if they had been announced."""
    if asked.job is not None:
        listed = [(job.created_at, job.key) for job in context.store.jobs.read([asked.job]) if job is not None]
    else:
        # Start at the job of the last change, and read one more: it may have been created at the very instant of that
        # change.
        after = None if last is None else (last.at, JobKey(asked.tenant, last.job.job_id + "\x00"))
        query = ListQuery(asked.tenant, limit + 1, asked.from_at, asked.to_at, after)
        listed = list(context.store.jobs.listed([], query))
    created = [Announcement(at, key, 1, 0, "", "") for at, key in listed]
    return [one for one in created if asked.from_at <= one.at <= asked.to_at and (last is None or one < last)]


def _entries(context: Context, named: Sequence[Announcement]) -> list[ChangeEntry | None]:
    """Return the entry of each announcement; None for a change that did not happen, or that is no longer kept."""
    keys = list(dict.fromkeys(one.job for one in named if one.version))
    jobs = {job.key: job for job in context.store.jobs.read(keys) if job is not None}
    revisions = _revisions(context, jobs, named)
    run_ids = [one.run for one in named if one.run is not None]
    runs = dict(zip(run_ids, context.store.runs.read(run_ids), strict=True))

    def entry(one: Announcement) -> ChangeEntry | None:
        if "/" in one.asked:
            return revision.entry_of_request(one)
        if one.run is not None:
            run = runs[one.run]
            return revision.entry_of_trigger(run) if run is not None and revision.was_triggered(one, run) else None
        job = jobs.get(one.job)
        if job is None:
            return None
        after = revisions.get(RevisionId(one.job, job.created_at, one.version))
        if after is None or not revision.was_made(one, after):
            return None
        return revision.entry_of(after, revisions.get(RevisionId(one.job, job.created_at, one.version - 1)))

    return [entry(one) for one in named]


def _revisions(context: Context, jobs: dict[JobKey, Job], named: Sequence[Announcement]) -> dict[RevisionId, Revision]:
    """Return the named revisions, and the ones before them, where they exist."""
    wanted = {
        RevisionId(one.job, jobs[one.job].created_at, version)
        for one in named
        if one.job in jobs
        for version in range(max(one.version - 1, 1), one.version + 1)
    }
    # Read the newest first: a revision that is replaced meanwhile is kept by then.
    newest = list(dict.fromkeys(one.job for one in wanted if one.version >= jobs[one.job].version))
    rows = context.store.jobs.read(newest, with_work=True)
    found = {one.id: one for one in (revision.outline(revision_of(row)) for row in rows if row is not None)}
    kept = context.store.changes.read(list(wanted - found.keys()))
    return {**found, **{one.id: one for one in kept if one is not None}}
