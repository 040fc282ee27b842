"""Gates of a run that the tests of lateness in `tests/engine` do not cover."""

from timeball.domain.attempts.after_claim import with_gate_waits
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.planning.blackouts import NOTHING
from timeball.domain.planning.planner import jitter_ms
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import Every, Schedule

NOW = parse_instant("2026-11-21T09:30:00Z")
KEY = JobKey("acme", "job")
JOB = Job(JobSpec(KEY, Schedule(Every(60, NOW)), None), shard=0, created_at=0, updated_at=0)
RUN = Run(RunId(KEY, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)


def test_a_run_that_was_sent_without_jitter_is_not_delayed_by_jitter_that_its_job_gets_later() -> None:
    jittery = with_spec(JOB, jitter_seconds=600)
    assert jitter_ms(KEY, NOW, 600) > 0
    assert with_gate_waits(RUN, jittery, NOW, 60_000, NOTHING).until == NOW


def test_the_jitter_that_a_run_was_sent_with_is_part_of_its_regular_start() -> None:
    jittery, jitter = with_spec(JOB, jitter_seconds=600), jitter_ms(KEY, NOW, 600)
    run = evolve(RUN, not_before=NOW + jitter)
    assert with_gate_waits(run, jittery, NOW + jitter, 60_000, NOTHING).until == NOW + jitter
