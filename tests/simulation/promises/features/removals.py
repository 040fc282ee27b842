"""Promises about jobs that are cancelled together with what becomes of their children."""

from collections.abc import Iterator

from tests.simulation.actors.removals import REMOVER
from tests.simulation.story import Story
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.tenants.actor import Action


def _a_job_is_cancelled_after_its_children(story: Story) -> Iterator[str]:
    """No open job that has depended on it since the request began still does, if it is its only parent.

    A detached child with other parents goes on without it as well.
    """
    history = story.store.history
    for write in history.jobs:
        before, after = write.before, write.after
        who = (after.change.by.key_id or "").split()
        is_cancel = after.change.action is Action.CANCEL and after.status is JobStatus.CANCELLED
        if before is None or before.status is JobStatus.CANCELLED or who[:1] != [REMOVER] or not is_cancel:
            continue
        for key in story.store.jobs:
            rows = history.jobs_between(key, int(who[2]), write.at)
            if rows and all(_hangs_on(row, after.key, is_alone=who[1] != "detach") for row in rows):
                yield f"{write}, and {rows[-1]}"


def _hangs_on(row: Job, parent: JobKey, *, is_alone: bool) -> bool:
    named = row.spec.parent_keys
    return row.is_open and (named == [parent] if is_alone else parent in named)


PROMISES = (_a_job_is_cancelled_after_its_children,)
