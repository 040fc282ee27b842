"""A job whose row is throttled cannot move on, and delays no other job of its chunk."""

from collections import Counter

from tests.engine.play import NOW, Play, open_days_only, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.scanning.buckets import PAGE
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.testing.faults import with_outages

THROTTLED = "job-3'"


def test_no_run_of_a_chunk_is_sent_twice_because_one_job_is_throttled() -> None:
    play = Play()
    jobs = play.store_jobs(spec(f"job-{number}", Every(60, NOW)) for number in range(10))
    whole = play.store
    play.store = with_outages(whole, lambda name, item: name == "jobs.swap" and THROTTLED in repr(item))
    assert play.scan().sent == 10
    assert sorted(run.job for run, _ in play.messages()) == sorted(job.key for job in jobs)
    assert [job.key for job in jobs if play.job(job.key).next_fire_at == NOW] == [JobKey("acme", "job-3")]
    play.store = whole
    play.clock.advance(SECOND_MS)
    play.scan()
    assert play.job(JobKey("acme", "job-3")).next_fire_at == NOW + 60 * SECOND_MS
    play.drain()
    assert sorted(call.run.job for _, call in play.caller.calls) == sorted(job.key for job in jobs)


def test_a_job_that_stays_throttled_stops_no_other_from_its_next_fire() -> None:
    play = Play()
    play.store_jobs(spec(f"job-{number}", Every(5, NOW)) for number in range(5))
    play.store = with_outages(play.store, lambda name, item: name == "jobs.swap" and THROTTLED in repr(item))
    play.scan()
    play.clock.advance(5 * SECOND_MS)
    sent_before = len(play.queue.sent)
    play.scan()
    assert {run.id.job.job_id for run in play.queue.sent[sent_before:]} >= {"job-0", "job-1", "job-2", "job-4"}


def test_jobs_that_stay_throttled_take_no_more_than_a_page_of_a_scan_beside_new_jobs() -> None:
    play = Play()
    play.store = with_outages(play.store, lambda name, _: name == "jobs.swap")
    sweeps, sent_before = open_days_only(0), 0
    for name, count in (("left", PAGE), ("left-too", 50), ("new", 10)):
        play.store_jobs(spec(f"{name}-{number}", At(NOW)) for number in range(count))
        sent_before = len(play.queue.sent)
        scan(play.context(), 0, Owner("2026", "a"), sweeps)
        play.clock.advance(SECOND_MS)
    sent = Counter(run.id.job.job_id.rpartition("-")[0] for run in play.queue.sent[sent_before:])
    assert sent["new"] == 10
    assert sent.total() == 10 + PAGE
