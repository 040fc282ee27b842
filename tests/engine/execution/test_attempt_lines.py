"""Each attempt that ends has one line in the log, which names all that it belongs to and nothing that is secret."""

import json
from dataclasses import replace

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.jobs.job import Completion, JobSpec, with_spec
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At
from timeball.engine.execution.claim import claim
from timeball.engine.runs.callback import Report, report

CONTEXT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SECRET = HttpTarget("https://user:pa55word@target.example:8443/hook?token=t0ken", headers={"X-Key": "k3y"})


def at_work(job: JobSpec | None = None) -> Play:
    play = Play()
    play.store_jobs([job or spec("job", At(NOW))])
    play.scan_all()
    return play


def ends(play: Play) -> list[tuple[object, object, object, object]]:
    return [(line["attempt"], line["outcome"], line["state"], line["reason"]) for line in play.attempts.lines]


def test_a_run_that_succeeds_has_a_line_with_all_its_names_and_figures() -> None:
    play = at_work()
    play.clock.advance(250)
    play.caller.takes_ms = 40
    play.drain()
    (run,) = play.runs(KEY)
    assert play.attempts.lines == [
        {
            "message": "attempt",
            "tenant": "acme",
            "job_id": "job",
            "run_id": str(run.id),
            "attempt": 1,
            "outcome": "succeeded",
            "state": "succeeded",
            "reason": None,
            "status": 200,
            "resource": "https://target.example",
            "priority": "normal",
            "origin": "schedule",
            "fire_time": format_instant(NOW),
            "lateness_ms": 250,
            "call_ms": 40,
            "took_ms": 40,
            "worker": "invocation-1",
        }
    ]


def test_each_attempt_of_a_run_has_a_line_of_its_own() -> None:
    play = at_work()
    play.caller.statuses = [503, 429]
    for _ in range(3):
        play.drain()
        play.clock.advance(60 * SECOND_MS)
        play.scan_all()
    assert ends(play) == [
        (1, "failed", "retrying", None),
        (2, "failed", "retrying", None),
        (3, "succeeded", "succeeded", None),
    ]
    assert [line["status"] for line in play.attempts.lines] == [503, 429, 200]


def test_an_attempt_that_vanished_has_a_line_by_the_executor_that_takes_over() -> None:
    play = at_work()
    (delivery,) = play.queue.receive("normal")
    claim(play.context(), [delivery.run], "vanished")
    assert play.attempts.lines == []
    play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
    play.execute([delivery])
    assert ends(play) == [(1, "lost", "running", None), (2, "succeeded", "succeeded", None)]
    assert [line["worker"] for line in play.attempts.lines] == ["vanished", "invocation-1"]
    assert play.attempts.lines[0]["call_ms"] is None


def test_an_attempt_that_its_target_takes_over_has_a_line_when_its_report_comes() -> None:
    play = at_work(replace(spec("job", At(NOW), PLAIN_RETRY, 60), completion=Completion.CALLBACK))
    play.caller.statuses = [202]
    play.drain()
    assert play.attempts.lines == []
    play.clock.advance(9 * SECOND_MS)
    (run,) = play.runs(KEY)
    for _ in range(2):  # a repeated report says nothing new
        report(play.context(), [Report(run.id, 1, "It broke.", may_retry=False)])
    assert ends(play) == [(1, "failed", "failed", "not_retriable")]
    assert play.attempts.lines[0]["call_ms"] == 9 * SECOND_MS


def test_a_line_has_no_payload_no_answer_no_error_and_no_credentials() -> None:
    job = replace(spec("job", At(NOW)), work=Work(SECRET, '{"card": "4111"}'))
    play = at_work(job)
    (stored,) = play.store.jobs.read([KEY], with_work=True)
    assert stored is not None
    assert with_spec(stored).spec.work == job.work
    play.caller.statuses = [500]
    play.drain()
    (line,) = play.attempts.lines
    text = json.dumps(line)
    for secret in ("pa55word", "user", "t0ken", "hook", "k3y", "4111", "card"):
        assert secret not in text
    assert line["resource"] == "https://target.example:8443"


def test_the_lines_of_a_traced_run_have_the_ids_that_its_calls_hand_on() -> None:
    play = at_work(replace(spec("job", At(NOW)), traceparent=CONTEXT))
    play.caller.statuses = [503]
    for _ in range(2):
        play.drain()
        play.clock.advance(60 * SECOND_MS)
        play.scan_all()
    handed = [call.traceparent for _, call in play.caller.calls]
    lines = [f"00-{line['trace_id']}-{line['span_id']}-01" for line in play.attempts.lines]
    assert handed == lines
    assert len({*lines, CONTEXT}) == 3
    assert {line["trace_id"] for line in play.attempts.lines} == {CONTEXT[3:35]}
