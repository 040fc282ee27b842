"""The worker in docs/reference/workers.md, run as written: each in its own process, on a queue of the embedded AWS.

Tests of long work replace the page's one function, and shorten the minute for which a message is hidden.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.docs.readme import ROOT, read
from tests.end_to_end.account import Account
from tests.end_to_end.steps import ask, ledger, until

pytestmark = pytest.mark.xdist_group("end_to_end")

PAGE = read(ROOT / "docs/reference/workers.md")
(SOURCE,) = re.findall(r"^<!-- example: worker -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(PATH, TASK) = re.findall(r"^PUT (\S+)\n\n(\{.*?^\})\n```$", PAGE, re.DOTALL | re.MULTILINE)[0]
FUNCTION, SECONDS = 'lambda payload: {"resized": payload["image"]}', " 60\n"
assert SOURCE.count(FUNCTION) == SOURCE.count(SECONDS) == 1
CALLING = SOURCE.replace(FUNCTION, 'lambda payload: urllib.request.urlopen(payload["url"]).status').replace(
    SECONDS, " 3\n"
)

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def queue(account: Account, request: pytest.FixtureRequest) -> str:
    """Create a queue for one test: a worker that was ended during a receive call may still get messages."""
    return account.queue(f"functions-{request.node.name[-40:]}")


@pytest.fixture
def start(account: Account, client: ApiClient, queue: str) -> Iterator[Start]:
    """Start workers that run a program, and end them after the test."""
    told = {**os.environ, **account.stage.emulator.client_environment}
    told |= {"API": client.url, "QUEUE_URL": account.queue_url(queue)}
    workers = []

    def one_more(source: str) -> subprocess.Popen[bytes]:
        workers.append(subprocess.Popen([sys.executable, "-c", source], env=told))
        return workers[-1]

    yield one_more
    for worker in workers:
        worker.kill()
        worker.wait()


def submit(client: ApiClient, queue: str, payload: object, **fields: object) -> dict[str, Any]:
    """Register the function of the page for the test's queue, and submit a job that names it."""
    ask(client, "PUT", PATH, {**json.loads(TASK), "target": {"type": "sqs", "queueArn": queue}, **fields})
    job: dict[str, Any] = client.create({"handler": PATH.rpartition("/")[2], "payload": payload, "maxRetries": 0})
    return job


def over(client: ApiClient, job: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end of a job's one run, and return that run."""
    until(lambda: [run["status"] in {"succeeded", "failed"} for run in ledger(client, job)] == [True])
    run: dict[str, Any] = client.get(f"/v1/runs/{ledger(client, job)[0]['runId']}")
    return run


def is_empty(account: Account, queue: str) -> bool:
    """Return whether a queue has no message, hidden ones included."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    told = account.client("sqs").get_queue_attributes(QueueUrl=account.queue_url(queue), AttributeNames=names)
    return all(int(told["Attributes"][name]) == 0 for name in names)


def test_a_worker_reports_the_functions_result_or_its_error(
    client: ApiClient, account: Account, queue: str, start: Start
) -> None:
    start(SOURCE)
    good, bad = submit(client, queue, {"image": 7}), submit(client, queue, {})
    large = submit(client, queue, {"image": "x" * 17_000})
    succeeded, failed, refused = (over(client, job) for job in (good, bad, large))
    assert (succeeded["taskId"], json.loads(succeeded["result"]["body"])) == ("resize-image", {"resized": 7})
    assert "KeyError('image')" in failed["attempts"][0]["error"]
    assert "The result was refused." in refused["attempts"][0]["error"]
    until(lambda: is_empty(account, queue), otherwise="not all messages were deleted")


def test_a_repeated_message_is_deleted_and_no_work_is_done(
    client: ApiClient, account: Account, queue: str, receiver: Receiver, start: Start
) -> None:
    job = submit(client, queue, {"url": f"{receiver.url}/ok"})
    until(lambda: not is_empty(account, queue))
    message = account.received(queue)
    for _ in range(2):
        account.client("sqs").send_message(
            QueueUrl=account.queue_url(queue),
            MessageBody=message["Body"],
            MessageAttributes=message["MessageAttributes"],
        )
    start(CALLING)
    assert over(client, job)["status"] == "succeeded"
    until(lambda: is_empty(account, queue), otherwise="the second message was not deleted")
    assert len(receiver.arrivals()) == 1


def test_a_message_stays_hidden_during_the_work_and_its_attempt_is_not_lost(
    client: ApiClient, account: Account, queue: str, receiver: Receiver, start: Start
) -> None:
    start(CALLING)
    # The attempt is lost after two seconds without a heartbeat and a margin of five. The message is visible after
    # three.
    job = submit(client, queue, {"url": f"{receiver.url}/slow/9"}, heartbeatSeconds=2)
    until(lambda: len(receiver.arrivals()) == 1, otherwise="no worker began to work")
    start(CALLING)
    run = over(client, job)
    assert (run["status"], len(run["attempts"]), len(receiver.arrivals())) == ("succeeded", 1, 1)
    until(lambda: is_empty(account, queue))


def test_the_message_of_a_killed_worker_goes_to_another_and_the_run_ends_once(
    client: ApiClient, account: Account, queue: str, receiver: Receiver, start: Start
) -> None:
    dies = start(CALLING)
    job = submit(client, queue, {"url": f"{receiver.url}/slow/2"})
    until(lambda: len(receiver.arrivals()) == 1, otherwise="no worker began to work")
    dies.kill()
    start(CALLING)
    run = over(client, job)
    assert (run["status"], len(run["attempts"]), len(receiver.arrivals())) == ("succeeded", 1, 2)
    until(lambda: is_empty(account, queue))


def test_the_worker_of_the_command_line_runs_a_command_and_drains(
    client: ApiClient, account: Account, queue: str
) -> None:
    told = {**os.environ, **account.stage.emulator.client_environment, "TIMEBALL_URL": client.url}
    code = "import json, os, sys; print(json.dumps([json.load(sys.stdin)['image'], os.environ['TIMEBALL_ATTEMPT']]))"
    command = shlex.join([sys.executable, "-c", code])
    arguments = ["worker", "--queue", account.queue_url(queue), "--exec", command]
    with subprocess.Popen([sys.executable, "-m", "timeball", *arguments], env=told) as worker:
        try:
            run = over(client, submit(client, queue, {"image": 7}))
            assert (run["status"], json.loads(run["result"]["body"])) == ("succeeded", [7, "1"])
            until(lambda: is_empty(account, queue), otherwise="the message was not deleted")
        finally:
            worker.terminate()
        assert worker.wait() == 0
