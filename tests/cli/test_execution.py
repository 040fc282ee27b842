"""A command at work for an attempt: what it is given, what becomes of its output, and how it is ended."""

import io
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.cli.commands import Stream
from timeball.cli.status import CommandError
from timeball.cli.work.attempts import RESULT_BYTES, Ending, QueuedAttempt
from timeball.cli.work.execution import Execution, result_of
from timeball.cli.work.listen import Forwarded, headers_of

FACTS = {
    "Timeball-Run-Id": "report.1.s",
    "Timeball-Job-Id": "report",
    "Timeball-Attempt": "2",
    "Timeball-Fire-Time": "2026-11-23T09:30:00.000Z",
    "Timeball-Callback-Token": "tba_secret",
    "traceparent": "00-1-2-01",
}
ATTEMPT = QueuedAttempt("report.1.s", 2, FACTS, '{"report": "tax"}', "tba_secret")


def executed(code: str, environment: Mapping[str, str] | None = None, log: Stream | None = None) -> Ending:
    command = [sys.executable, "-c", code]
    execution = Execution(command, ATTEMPT, environment or {}, log or Stream())
    ending = execution.wait(60)
    assert ending is not None
    return ending


def test_a_command_gets_the_payload_and_the_ids_and_no_key() -> None:
    code = "import json, os, sys; print(json.dumps({'payload': json.load(sys.stdin), 'env': dict(os.environ)}))"
    result: Any = executed(code, {"TIMEBALL_KEY": "tb_x", "TIMEBALL_URL": "https://a", "PATH": "/bin"}).result
    assert result["payload"] == {"report": "tax"}
    env = result["env"]
    assert env["PATH"] == "/bin"
    assert {name: value for name, value in env.items() if name.startswith("TIMEBALL_")} == {
        "TIMEBALL_URL": "https://a",
        "TIMEBALL_RUN_ID": "report.1.s",
        "TIMEBALL_JOB_ID": "report",
        "TIMEBALL_ATTEMPT": "2",
        "TIMEBALL_FIRE_TIME": "2026-11-23T09:30:00.000Z",
    }
    assert "tba_secret" not in json.dumps(env)


# Each case: the code of a command, and how it ended.
ENDINGS: dict[str, tuple[str, Ending]] = {
    "nothing": ("pass", Ending()),
    "a text": ("print('hello')", Ending("hello")),
    "JSON": ("print('{\"rows\": 17}')", Ending({"rows": 17})),
    "an exit status": ("import sys; sys.exit(3)", Ending(error="The command ended with exit status 3.")),
    "an exit status with a reason": (
        "import sys; print('out'); print('The warehouse is closed.', file=sys.stderr); sys.exit(1)",
        Ending(error="The command ended with exit status 1. The warehouse is closed."),
    ),
    "an exit status with a reason on the output": (
        "import sys; print('closed'); sys.exit(1)",
        Ending(error="The command ended with exit status 1. closed"),
    ),
    "a signal": ("import os; os.kill(os.getpid(), 9)", Ending(error="The command ended with signal 9.")),
    "output that is no text": (r"import sys; sys.stdout.buffer.write(b'\xff')", Ending("\ufffd")),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_the_exit_status_decides_and_the_output_is_kept(case: str) -> None:
    code, ending = ENDINGS[case]
    assert executed(code) == ending


def test_the_end_of_a_long_output_is_kept() -> None:
    ending = executed("print('x' * 1_000_000 + 'the end')")
    assert isinstance(ending.result, str)
    assert ending.result.endswith("the end")
    assert len(json.dumps(ending.result)) <= RESULT_BYTES


def test_long_json_is_kept_as_a_text() -> None:
    assert isinstance(executed("import json; print(json.dumps(['x' * 100] * 1000))").result, str)
    assert isinstance(result_of('"' + "\u20ac" * 8000 + '"', is_whole=True), str)


@pytest.mark.parametrize("output", ['{"loss": NaN}', "[1e999]", r'"\ud800"', r'{"\ud800": 1}'])
def test_output_that_python_takes_for_json_and_json_does_not_know_is_kept_as_a_text(output: str) -> None:
    assert result_of(output, is_whole=True) == output


def test_the_end_of_a_long_error_is_kept_and_the_log_has_all() -> None:
    log = Stream()
    ending = executed("import sys; sys.stderr.write('x' * 5000 + 'the end'); sys.exit(1)", log=log)
    assert ending.error is not None
    assert ending.error.endswith("the end")
    assert len(ending.error) <= 1000
    assert isinstance(log, io.StringIO)
    assert len(log.getvalue()) == 5007


def test_a_payload_that_is_not_read_is_no_error() -> None:
    large = QueuedAttempt("r.1.s", 1, FACTS, "x" * 1_000_000, None)
    assert Execution([sys.executable, "-c", "pass"], large, {}, Stream()).wait(60) == Ending()


def test_a_command_that_goes_on_is_waited_for_and_stopped() -> None:
    code = "import signal; print('begun', flush=True); signal.pause()"
    execution = Execution([sys.executable, "-c", code], ATTEMPT, {}, Stream())
    assert execution.wait(0) is None
    execution.stop()
    ending = execution.wait(60)
    assert ending is not None
    assert ending.error is not None
    assert ending.error.startswith("The command ended with signal 15, after it was stopped.")


def test_a_command_that_is_stopped_and_exits_with_0_has_not_succeeded() -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); "
        "print('begun', file=sys.stderr, flush=True); signal.pause()"
    )
    log = Stream()
    execution = Execution([sys.executable, "-c", code], ATTEMPT, {}, log)
    while "begun" not in log.getvalue():
        assert execution.wait(0.01) is None
    execution.stop()
    assert execution.wait(60) == Ending(error="The command ended with exit status 0, after it was stopped. begun")


def test_what_a_command_leaves_behind_is_ended_with_it() -> None:
    left = "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])"
    assert executed(f"import subprocess, sys; {left}; print('done')") == Ending("done")


def test_a_process_that_has_left_the_group_of_its_command_is_not_waited_for() -> None:
    left = "import time; time.sleep(20); print('late')"
    starts = f"subprocess.Popen([sys.executable, '-c', {left!r}], start_new_session=True)"
    ending = executed(f"import subprocess, sys; print({starts}.pid)")
    assert isinstance(ending.result, int)
    os.kill(ending.result, signal.SIGKILL)


def test_a_command_that_does_not_exist_ends_the_worker() -> None:
    with pytest.raises(CommandError, match=r"--exec: /no/such did not start: No such file or directory\."):
        Execution(["/no/such"], ATTEMPT, {}, Stream())


def forwarded(
    answer: httpx.Response | Exception, attempt: QueuedAttempt = ATTEMPT
) -> tuple[Ending, list[httpx.Request]]:
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    http = httpx.Client(transport=httpx.MockTransport(handle))
    ending = Forwarded(http, "http://me:password@localhost:3000/hook?key=secret", attempt).wait(10)
    assert ending is not None
    return ending, asked


# Each case: the answer of a server, and how the work ended.
ANSWERS: dict[str, tuple[httpx.Response | Exception, Ending]] = {
    "done": (httpx.Response(200, json={"rows": 1}), Ending({"rows": 1})),
    "done without a body": (httpx.Response(204), Ending()),
    "accepted": (httpx.Response(202), Ending(is_open=True)),
    "failed": (httpx.Response(500, text="no"), Ending(error="The server answered with status 500. no")),
    "elsewhere": (httpx.Response(302, headers={"Location": "/"}), Ending(error="The server answered with status 302.")),
    "nobody": (httpx.ConnectError("x"), Ending(error="The call to localhost:3000 failed (ConnectError).")),
    "unreadable": (httpx.DecodingError("x"), Ending(error="The call to localhost:3000 failed (DecodingError).")),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_the_answer_of_a_server_is_the_outcome(case: str) -> None:
    answer, ending = ANSWERS[case]
    assert forwarded(answer)[0] == ending


def test_a_server_gets_the_headers_of_a_webhook_and_the_payload() -> None:
    _, (asked,) = forwarded(httpx.Response(200))
    assert (asked.method, asked.read()) == ("POST", b'{"report": "tax"}')
    for name, value in {**FACTS, "Idempotency-Key": "report.1.s", "Content-Type": "application/json"}.items():
        assert asked.headers[name] == value
    assert headers_of(ATTEMPT)["webhook-id"] == "report.1.s"


def test_an_attribute_that_no_header_can_have_is_left_out_of_the_call() -> None:
    strange = QueuedAttempt("r.1.s", 1, {**FACTS, "City": "K\u00f6ln"}, "{}", None)
    ending, (asked,) = forwarded(httpx.Response(200), strange)
    assert (ending, "City" in asked.headers) == (Ending(), False)
