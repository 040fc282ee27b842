"""Note on a job, beforehand, that a run starts days after it was due: changes of the job search that far back.

The executors were down for long, or a person retries the run. Before its claim the run need not be found, because the
claim reads the job, and reads it once more here. So a cancel either came before, and is obeyed, or finds the note.
"""

from collections.abc import Sequence

from timeball.domain.changes.reach import needs_note, noted
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.ports.errors import ContendedError


def note_late_starts(context: Context, starting: Sequence[tuple[RunId, Job]], now: int) -> None:
    """Note the earliest of these runs on each job. Raises UnavailableError: then none of them may be claimed."""
    earliest: dict[JobKey, int] = {}
    for run_id, job in starting:
        if needs_note(job, run_id.fire_at, now, context.rules.misfire_ms):
            earliest[job.key] = min(run_id.fire_at, earliest.get(job.key, run_id.fire_at))

    def change(_: int, job: Job) -> Job | None:
        if job.status is JobStatus.CANCELLED:
            raise ContendedError(f"job {job.key.job_id} was cancelled meanwhile")
        fire_at = earliest[job.key]
        return noted(job, fire_at, now) if needs_note(job, fire_at, now, context.rules.misfire_ms) else None

    jobs = context.store.jobs.read(list(earliest)) if earliest else []
    if not all(one.done for one in compare_and_swap(context.store.jobs.swap, jobs, change, now)):
        raise ContendedError("a job whose run starts late kept changing")
