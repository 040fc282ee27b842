"""Lifecycle events as CloudEvents: runs and jobs in the shape in which the API shows them.

Invariant: an event has no payload, no target, and no answer of a target, because other services may read the bus.
"""

import json
from collections.abc import Collection
from typing import Any, Final, Literal

from pydantic import Field

from timeball.api.http.exchange import (
    AnswerModel,
    CreatedAt,
    IdOfJob,
    NameForPeople,
    UpdatedAt,
    Version,
    WhyItFailed,
    attribute,
    text_of,
)
from timeball.api.jobs.answers import paused_reason, type_of_schedule
from timeball.api.pages import CONSOLE_URL, ConsoleOfJob, addresses_below
from timeball.api.runs.answers import RunAnswer, run_answer
from timeball.api.schedules.fields import ScheduleText, text_of_schedule
from timeball.domain.archive import RowWrite
from timeball.domain.lifecycle import PREFIX, LifecycleEvent, is_of_notice, type_of_job, type_of_run
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus, Priority
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import Action
from timeball.domain.time.instants import format_instant

_SPEC_VERSION: Final = "1.0"


class LifecycleRun(RunAnswer):
    """A run, with its generation and the failure of its newest attempt."""

    generation: int = attribute("id.generation", description="The generation of its job.")
    error: WhyItFailed
    http_status: int | None = Field(description="The HTTP status of the answer to its newest attempt that ended.")


class LifecycleJob(AnswerModel):
    """A job, with the change that made its version."""

    job_id: IdOfJob = attribute("key.job_id", description="The id of the job.")
    name: NameForPeople = attribute("spec.name", description="A name for people.")
    status: JobStatus = attribute("listed_status", description="Its status.")
    owner: str | None = Field(description="The owner as stated, or the name of the API key that created the job.")
    priority: Priority = attribute("spec.priority", description="The priority of its runs.")
    schedule_type: Literal["once", "cron", "interval", "event"] = Field(description="The form of the schedule.")
    schedule_text: ScheduleText
    tags: dict[str, str] = attribute("spec.tags", description="The tags of the job.")
    console_url: ConsoleOfJob = attribute("key.job_id", description=CONSOLE_URL)
    paused_reason: Literal["failures", "parent_removed"] | None = Field(
        description="`failures` if failed runs paused it, `parent_removed` if a cancel took its parents; else null."
    )
    action: Action = attribute("change.action", description="The newest change of a user.")
    changed_by: str | None = attribute("change.by.key_id", description="The id of the API key that made this change.")
    created_at: CreatedAt
    updated_at: UpdatedAt
    generation: int = Field(description="Counts the lives of the job.")
    version: Version


def event_of(
    write: RowWrite, wanted: Collection[str], own: Collection[JobKey], console: str | None
) -> LifecycleEvent | None:
    """Return the event about a write if its type is wanted.

    `own` are jobs of the deployment, which have no events, and neither have notices. `console` is the console's
    address; None: there is none.
    """
    before, after = write.before, write.after
    if isinstance(after, Run):
        kind, key, subject = type_of_run(before if isinstance(before, Run) else None, after), after.id.job, after.id
    elif isinstance(after, Job):
        kind, key, subject = type_of_job(before if isinstance(before, Job) else None, after), after.key, None
    else:
        return None
    if kind not in wanted or key in own or is_of_notice(key.job_id):
        return None
    with addresses_below(console):
        data = text_of(_about_run(after) if isinstance(after, Run) else _about_job(after))
    attributes: dict[str, Any] = {
        "specversion": _SPEC_VERSION,
        "id": write.name,
        "source": f"/tenants/{write.tenant}",
        "type": f"{PREFIX}{kind}",
        "subject": str(subject or key.job_id),
        "time": format_instant(write.at),
        "datacontenttype": "application/json",
        "tenant": write.tenant,
        "sequence": write.position,
    }
    head = json.dumps(attributes, separators=(",", ":"))
    return LifecycleEvent(attributes["type"], f'{head[:-1]},"data":{data}}}')


def _about_run(run: Run) -> RunAnswer:
    last = run.last
    return run_answer(run, LifecycleRun, error=last and last.error, http_status=last and last.status)


def _about_job(job: Job) -> LifecycleJob:
    return LifecycleJob.about(
        job,
        schedule_type=type_of_schedule(job),
        schedule_text=text_of_schedule(job.spec),
        paused_reason=paused_reason(job),
    )
