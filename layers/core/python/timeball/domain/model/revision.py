"""Who changed a job: each change of a user is a revision, which holds all that its plans go by.

Invariant: the job's row is its newest revision. A change keeps the one that it replaces before it replaces it, so no
crash leaves a hole: of versions 1 to n of a job, n is on the row and each other one is kept.
"""

from dataclasses import dataclass
from typing import Final

from timeball.domain.model.actor import Action, Actor
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.job import Change, Job, JobSpec, RuleSet
from timeball.domain.model.run import Run

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
    """That somebody is about to change a job, or to trigger it: written before that is done, so it may come to nothing.

    `version` is the one that is to be made, 0 for a trigger; `fire_at` that of a trigger's run, or 0. `key_id` is empty
    if no user does it. It counts only if what stands says the same: the revision, or the run.
    """

    at: int
    job: JobKey
    version: int
    fire_at: int
    key_id: str

    @property
    def run(self) -> RunId | None:
        """The run that a trigger is to make."""
        return RunId(self.job, self.fire_at, Origin.MANUAL) if self.version == 0 else None


@dataclass(frozen=True)
class Entry:
    """What the audit log tells: a change, and the revisions before and after it, where these are still kept.

    `revision` is the version that the change made; a trigger makes none.
    """

    job: JobKey
    at: int
    action: Action
    by: Actor
    revision: int | None = None
    before: Revision | None = None
    after: Revision | None = None
    run: RunId | None = None


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
    return Announcement(job.change.at, job.key, job.version, 0, job.change.by.key_id or "")


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
    return Announcement(run.created_at, run.id.job, 0, run.id.fire_at, run.triggered_by.key_id or "")


def entry_of(revision: Revision, before: Revision | None) -> Entry:
    """Return what is told of a revision, and the one that it replaced."""
    change = revision.change
    return Entry(revision.spec.key, change.at, change.action, change.by, revision.version, before, revision)
