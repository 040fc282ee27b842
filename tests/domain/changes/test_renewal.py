"""The next generation of a job that has ended: which parts of its row go on, and which begin anew."""

from dataclasses import replace

import pytest

from tests.engine.play import spec
from timeball.domain.changes.renewal import renewed
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import OPEN, Job, JobStatus, Verb
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.notify import RunEnd
from timeball.domain.time.instants import HOUR_MS
from timeball.domain.time.schedule import At, Every

NOW = 1_000 * HOUR_MS
KEY = JobKey("acme", "job")
LATER = NOW + HOUR_MS
ONCE, OFTEN = spec("job", At(NOW + 5_000)), spec("job", Every(60, NOW))
LAST = RunId(KEY, NOW, Origin.SCHEDULE)
ENDED = replace(
    new_job(replace(OFTEN, fingerprint="print"), NOW, Shards(1), Actor("key")),
    status=JobStatus.CANCELLED,
    shard=7,
    version=3,
    schedule_version=4,
    revision=9,
    runs_planned=5,
    holder=LAST,
    has_children=True,
    failing=RunEnd(LAST, 1, None, NOW),
)


def again(job: Job = ENDED) -> Job:
    after = renewed(job, ONCE, LATER, LATER, Actor("other"), 2)
    assert after is not None
    return after


def test_the_place_and_the_counts_of_versions_go_on() -> None:
    after = again()
    assert (after.shard, after.created_at, after.created_by, after.spec.fingerprint) == (7, NOW, "key", "print")
    assert (after.generation, after.version, after.schedule_version, after.revision) == (2, 4, 5, 9)
    assert (after.holder, after.has_children) == (LAST, True)


def test_the_rest_begins_anew_and_its_children_are_notified() -> None:
    after = again()
    assert (after.status, after.begun_at, after.runs_planned, after.failing) == (JobStatus.PENDING, LATER, 0, None)
    assert after.must_notify_children
    assert after.intent is not None
    assert (after.intent.verb, after.intent.next_fire_at, after.due_at) == (Verb.RENEW, None, LATER)


@pytest.mark.parametrize("status", sorted(OPEN))
def test_an_open_job_has_no_next_generation(status: JobStatus) -> None:
    assert renewed(replace(ENDED, status=status), ONCE, LATER, LATER, NO_ACTOR, 0) is None


# A job, a fire time, the generation of its row there.
ROWS = {
    "the first generation": (replace(ENDED, generation=1), NOW, 1),
    "a fire from before the second generation": (renewed(ENDED, OFTEN, LATER, LATER, NO_ACTOR, 0), LATER - 1, 1),
    "a fire of the second generation": (renewed(ENDED, OFTEN, LATER, LATER, NO_ACTOR, 0), LATER, 2),
    "a one-off whose time has passed": (renewed(ENDED, ONCE, LATER, LATER, NO_ACTOR, 0), NOW, 2),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_is_named_by_the_generation_that_had_its_fire(case: str) -> None:
    job, fire_at, generation = ROWS[case]
    assert job is not None
    assert job.run_id(fire_at) == RunId(KEY, fire_at, Origin.SCHEDULE, generation=generation)


@pytest.mark.parametrize("generation", [1, 2, 10, 999_999])
@pytest.mark.parametrize("origin", [(Origin.SCHEDULE, ""), (Origin.BACKFILL, "abc2"), (Origin.DEPENDENCY, "12")])
def test_the_text_of_a_runs_id_is_read_back(generation: int, origin: tuple[Origin, str]) -> None:
    run = RunId(KEY, NOW, *origin, generation)
    assert RunId.parse("acme", str(run)) == run


@pytest.mark.parametrize("text", ["job.5.s.1", "job.5.s.0", "job.5.s.02", "job.5.s.", "job.5.s.2.2", "job.5.b.2"])
def test_no_run_has_a_text_of_another_form(text: str) -> None:
    assert RunId.parse("acme", text) is None
