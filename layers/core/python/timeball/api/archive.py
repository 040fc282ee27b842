"""The lines of the archive: runs that ended, attempts and changes, each in the shape in which the API shows it.

Invariant: the answers of the API are the only source of a line, so a line never shows what an answer hides: no values
of headers, no large payloads.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from timeball.api.history import change_answer
from timeball.api.http.exchange import IdOfJob, IdOfRun, text_of
from timeball.api.runs.answers import AttemptAnswer, RunAnswer, attempt_answer, run_answer
from timeball.domain.archive import ArchiveLine, LineKind, RowWrite, StoredAttempt
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import (
    Announcement,
    ChangeEntry,
    Revision,
    entry_of,
    entry_of_request,
    entry_of_trigger,
    outline,
    revision_of,
)
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR

SCHEMA_VERSION: Final = 1
"""The version of the lines' form. New fields do not raise it."""


class ArchivedRun(RunAnswer):
    """A run as it ended, with what its row keeps of its newest attempt."""

    generation: int = Field(description="The generation of its job.")
    last_attempt: AttemptAnswer | None = Field(
        description="The newest attempt that ended; its error and its answer are cut to 200 bytes each."
    )


class ArchivedAttempt(AttemptAnswer):
    """An attempt that failed, or has a longer answer than its run's row keeps."""

    job_id: IdOfJob
    run_id: IdOfRun


def lines_of(write: RowWrite) -> Iterator[ArchiveLine]:
    """Yield the lines about a write, if it ended a run, was a user's change, or changed what is shown of an ended run.

    Most writes are none of these.
    """
    before, after = write.before, write.after
    if isinstance(after, Run):
        if before is None and _was_triggered(after):
            yield _change(write, entry_of_trigger(after))
        text = _text_of_run(after)
        if text is not None and not (isinstance(before, Run) and _text_of_run(before) == text):
            yield _line(write, LineKind.RUNS, str(after.id), text)
    elif isinstance(after, StoredAttempt):
        yield _line(write, LineKind.ATTEMPTS, f"{after.run}#{after.attempt.number}", _text_of_attempt(after))
    elif isinstance(after, Announcement):
        if "/" in after.asked:  # all others only announce what the write of a job or of a run says itself
            yield _change(write, entry_of_request(after))
    elif after.spec.notice is None:
        yield _change(write, _entry_of_job(before if isinstance(before, Job) else None, after))


def _was_triggered(run: Run) -> bool:
    """Say whether a user has made a run, and not a run of the same cycle."""
    is_asked_for = run.id.origin is Origin.MANUAL and run.triggered_by != NO_ACTOR
    return is_asked_for and (run.root is None or run.begins_cycle)


def _entry_of_job(before: Job | None, after: Job) -> ChangeEntry:
    """Return the entry of a change of a job, without a revision whose work is no longer kept."""
    former = None if before is None else _kept(before)
    made = outline(revision_of(after))
    return evolve(entry_of(made, former), after=_kept(after))


def _kept(job: Job) -> Revision | None:
    return None if job.spec.work is None else outline(revision_of(job))


def _text_of_run(run: Run) -> str | None:
    """Return an ended run as text; None: it goes on."""
    if not run.is_terminal:
        return None
    last = None if run.last is None else attempt_answer(run.last)
    answer = run_answer(run, ArchivedRun, generation=run.id.generation, last_attempt=last)
    return answer.model_dump_json(by_alias=True, exclude_unset=True, exclude={"console_url"})  # it may not last as long


def _text_of_attempt(stored: StoredAttempt) -> str:
    about = attempt_answer(stored.attempt).model_dump()
    return text_of(ArchivedAttempt(**about, job_id=stored.run.job.job_id, run_id=str(stored.run)))


def _change(write: RowWrite, entry: ChangeEntry) -> ArchiveLine:
    """Return the line of a change. Each change is one write, so its key is its position."""
    return _line(write, LineKind.CHANGES, write.position, text_of(change_answer(entry)))


def _line(write: RowWrite, kind: LineKind, key: str, text: str) -> ArchiveLine:
    head: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "tenantId": write.tenant,
        "lineKey": key,
        "linePosition": write.position,
    }
    whole = f"{json.dumps(head, separators=(',', ':'))[:-1]},{text[1:]}"
    return ArchiveLine(kind, write.tenant, write.at, write.name, whole)
