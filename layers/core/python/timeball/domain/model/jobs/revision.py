"""Who changed a job: each change of a user is a revision, which holds all that its plans go by.

Invariant: the job's row is its newest revision. A change keeps the one that it replaces before it replaces it, so no
crash leaves a hole: of versions 1 to n of a job, n is on the row and each other one is kept.
"""

from dataclasses import dataclass, field
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Change, Job, JobSpec, RuleSet
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NOBODY, Action, Actor, Kind, Resource

SHOWN_PAYLOAD_BYTES: Final = 1_000
"""A larger payload is left out where revisions are listed."""


@dataclass(frozen=True, order=True)
class RevisionId:
    """A version of a job that was created at an instant (ms)."""

    job: JobKey
    created_at: int
    version: int


@dataclass(frozen=True)
class Revision:
    """A job as a change left it: what its user asked for, and by which rules its fires were reckoned.

    `created_at` tells it from that of a job of long ago that had the same id. `lacks_payload`: a large one is left out.
    """

    spec: JobSpec
    change: Change
    rules: RuleSet
    version: int
    schedule_version: int
    created_at: int
    lacks_payload: bool = False

    @property
    def id(self) -> RevisionId:
        """Which revision this is."""
        return RevisionId(self.spec.key, self.created_at, self.version)


@dataclass(frozen=True, order=True)
class Announcement:
    """That somebody is about to do something: written before that is done, so it may come to nothing.

    A change of a job has the `version` that is to be made, a trigger the `fire_at` of its run, and `key_id` is empty if
    no user does it: these count only if what stands says the same, the revision or the run. Of anything else `asked`
    says what and about what, and `by` who; there is no revision of it to tell more. Its `job` is that of the run or the
    backfill, else one without an id.
    """

    at: int
    job: JobKey
    version: int
    fire_at: int
    asked: str
    key_id: str
    by: Actor = field(default=NOBODY, compare=False)

    @property
    def run(self) -> RunId | None:
        """The run that a trigger is to make."""
        return RunId(self.job, self.fire_at, Origin.MANUAL) if self.version == 0 and not self.asked else None


@dataclass(frozen=True)
class Entry:
    """What the audit log tells: a change, and the revisions before and after it, where these are still kept.

    `revision` is the version that a change of a job made; nothing else makes one.
    """

    resource: Resource
    at: int
    action: Action
    by: Actor
    revision: int | None = None
    before: Revision | None = None
    after: Revision | None = None


def revision_of(job: Job) -> Revision:
    """Return a job's newest revision; with the job's work, if that was read."""
    return Revision(job.spec, job.change, job.rules, job.version, job.schedule_version, job.created_at)


def outline(revision: Revision) -> Revision:
    """Return a revision without its payload, if that is large."""
    work = revision.spec.work
    if work is None or work.payload is None or len(work.payload.encode()) <= SHOWN_PAYLOAD_BYTES:
        return revision
    return evolve(revision, spec=evolve(revision.spec, work=evolve(work, payload=None)), lacks_payload=True)


def change_announced(job: Job) -> Announcement:
    """Return the announcement of a job that is about to be written as its change has made it."""
    return Announcement(job.change.at, job.key, job.version, 0, "", job.change.by.key_id or "")


def was_triggered(announced: Announcement, run: Run) -> bool:
    """Say whether a run is the one that was announced."""
    return run.created_at == announced.at and (run.triggered_by.key_id or "") == announced.key_id


def was_made(announced: Announcement, revision: Revision) -> bool:
    """Say whether a revision is what was announced: several may have wanted to make it, and one did.

    Who created a job need not be announced.
    """
    return (
        revision.version == announced.version
        and revision.change.at == announced.at
        and (announced.version == 1 or (revision.change.by.key_id or "") == announced.key_id)
    )


def trigger_announced(run: Run) -> Announcement:
    """Return the announcement of a run that a trigger is about to make."""
    return Announcement(run.created_at, run.id.job, 0, run.id.fire_at, "", run.triggered_by.key_id or "")


def request_announced(tenant: str, resource: Resource, action: Action, by: Actor, at: int) -> Announcement:
    """Return the announcement of what is asked of anything but a job."""
    asked = f"{action}/{resource.kind}/{resource.id}"
    return Announcement(at, JobKey(tenant, resource.job_id), 0, 0, asked, by.key_id or "", by)


def entry_of(revision: Revision, before: Revision | None) -> Entry:
    """Return what is told of a revision, and the one that it replaced."""
    change, job = revision.change, revision.spec.key
    resource = Resource(Kind.JOB, job.job_id, job.job_id)
    return Entry(resource, change.at, change.action, change.by, revision.version, before, revision)


def entry_of_trigger(run: Run) -> Entry:
    """Return what is told of a run that was triggered."""
    resource = Resource(Kind.RUN, str(run.id), run.id.job.job_id)
    return Entry(resource, run.created_at, Action.TRIGGER, run.triggered_by)


def entry_of_request(announced: Announcement) -> Entry:
    """Return what is told of a request about anything but a job."""
    action, kind, name = announced.asked.split("/", 2)
    return Entry(Resource(Kind(kind), name, announced.job.job_id), announced.at, Action(action), announced.by)
