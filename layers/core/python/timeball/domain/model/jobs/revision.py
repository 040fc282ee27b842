"""The revisions of a job: each change of a user makes one, and it holds everything that the job's plans depend on.

Invariant: the job's row is its newest revision. A change stores the revision that it replaces before it replaces it. So
a crash leaves no hole: of versions 1 to n of a job, version n is on the row and all others are stored.
"""

from dataclasses import dataclass, field
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Change, Job, JobSpec, RuleSet
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor, Resource, ResourceKind

SHOWN_PAYLOAD_BYTES: Final = 1_000
"""A list of revisions leaves out larger payloads."""


@dataclass(frozen=True, order=True)
class RevisionId:
    """The name of a version of a job."""

    job: JobKey
    """The tenant and the job's id."""
    created_at: int
    """When the job was created (ms): a later job with the same id has other revisions."""
    version: int
    """The number of the version."""


@dataclass(frozen=True)
class Revision:
    """A job as a change left it: what its user asked for, and the rules by which its fires were computed."""

    spec: JobSpec
    """What the user asked for."""
    change: Change
    """The change that made this revision."""
    rules: RuleSet
    """The rules by which the next fire was computed."""
    version: int
    """The number of the version."""
    schedule_version: int
    """The version of its schedule."""
    created_at: int
    """When the job was created (ms): an earlier job with the same id has another instant."""
    lacks_payload: bool = False
    """The payload is large and was left out."""

    @property
    def id(self) -> RevisionId:
        """The name of this revision."""
        return RevisionId(self.spec.key, self.created_at, self.version)


@dataclass(frozen=True, order=True)
class Announcement:
    """The intention to do something, stored before it is done; so it may come to nothing.

    An announced change of a job, or trigger, counts only if the revision, or the run, that is stored agrees with it.
    For everything else no revision exists; `asked` and `by` say what was asked for, and who asked.
    """

    at: int
    """When it was asked for (ms)."""
    job: JobKey
    """The job that is changed, or whose run or backfill it is about; otherwise a key with an empty id."""
    version: int
    """The version that the change will make; 0: not a change of a job."""
    fire_at: int
    """The instant of the run that a trigger will make (ms); 0: not a trigger."""
    asked: str
    """`action/kind/id` of any other request; empty for a change of a job; of a trigger the generation after 1, and
    `<cycle>.` before the generation if it begins a named cycle."""
    key_id: str
    """The id of the API key that asks; empty: no user asks."""
    by: Actor = field(default=NO_ACTOR, compare=False)
    """The actor that asks."""

    @property
    def run(self) -> RunId | None:
        """The run that a trigger will make; None: it is no trigger."""
        if self.version or "/" in self.asked:
            return None
        series, _, generation = self.asked.rpartition(".")
        return RunId(self.job, self.fire_at, Origin.MANUAL, series, int(generation or 1))


@dataclass(frozen=True)
class ChangeEntry:
    """An entry of the log of changes: a change, and the revisions before and after it that are still stored."""

    resource: Resource
    """What was changed."""
    at: int
    """When the change was asked for (ms)."""
    action: Action
    """What was asked for."""
    by: Actor
    """The actor that asked for it."""
    revision: int | None = None
    """The version that a change of a job made; None: anything else makes no version."""
    before: Revision | None = None
    """The revision that was replaced; None: none, or no longer stored."""
    after: Revision | None = None
    """The revision that the change made; None: none, or no longer stored."""


def revision_of(job: Job) -> Revision:
    """Return a job's newest revision, with the job's work if that was read."""
    return Revision(job.spec, job.change, job.rules, job.version, job.schedule_version, job.created_at)


def outline(revision: Revision) -> Revision:
    """Return a revision without its payload if that is large."""
    work = revision.spec.work
    if work is None or work.payload is None or len(work.payload.encode()) <= SHOWN_PAYLOAD_BYTES:
        return revision
    return evolve(revision, spec=evolve(revision.spec, work=evolve(work, payload=None)), lacks_payload=True)


def change_announced(job: Job) -> Announcement:
    """Return the announcement of a change, from the job as the change is about to write it."""
    return Announcement(job.change.at, job.key, job.version, 0, "", job.change.by.key_id or "")


def was_triggered(announced: Announcement, run: Run) -> bool:
    """Say whether a run is the announced one."""
    return run.created_at == announced.at and (run.triggered_by.key_id or "") == announced.key_id


def was_made(announced: Announcement, revision: Revision) -> bool:
    """Say whether a revision is the announced one: of several changes that announce the same version, one makes it.

    The creator of a job may be unannounced, so the API key of version 1 is not compared.
    """
    return (
        revision.version == announced.version
        and revision.change.at == announced.at
        and (announced.version == 1 or (revision.change.by.key_id or "") == announced.key_id)
    )


def trigger_announced(run: Run) -> Announcement:
    """Return the announcement of a run that a trigger is about to make."""
    of = "" if run.id.generation == 1 else str(run.id.generation)
    of = f"{run.id.series}.{of}" if run.id.series else of
    return Announcement(run.created_at, run.id.job, 0, run.id.fire_at, of, run.triggered_by.key_id or "")


def request_announced(tenant: str, resource: Resource, action: Action, by: Actor, at: int) -> Announcement:
    """Return the announcement of a request about anything but a job."""
    asked = f"{action}/{resource.kind}/{resource.id}"
    return Announcement(at, JobKey(tenant, resource.job_id), 0, 0, asked, by.key_id or "", by)


def entry_of(revision: Revision, before: Revision | None) -> ChangeEntry:
    """Return the log entry of a revision, with the revision that it replaced."""
    change, job = revision.change, revision.spec.key
    resource = Resource(ResourceKind.JOB, job.job_id, job.job_id)
    return ChangeEntry(resource, change.at, change.action, change.by, revision.version, before, revision)


def entry_of_trigger(run: Run) -> ChangeEntry:
    """Return the log entry of a run that was triggered."""
    resource = Resource(ResourceKind.RUN, str(run.id), run.id.job.job_id)
    return ChangeEntry(resource, run.created_at, Action.TRIGGER, run.triggered_by)


def entry_of_request(announced: Announcement) -> ChangeEntry:
    """Return the log entry of a request about anything but a job."""
    action, kind, name = announced.asked.split("/", 2)
    return ChangeEntry(
        Resource(ResourceKind(kind), name, announced.job.job_id), announced.at, Action(action), announced.by
    )
