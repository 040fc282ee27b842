"""The worker in docs/workers.md, run as it stands there: each in a process of its own, on a queue of the embedded AWS.

Where work is to last, the page's one function is another, and the minute for which a message is hidden is shorter.
"""

import json
import os
import re
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

PAGE = read(ROOT / "docs/workers.md")
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
    """Make a queue of the test's own: a worker that was ended while it asked may still be given messages."""
    return account.queue(f"functions-{request.node.name[-40:]}")


@pytest.fixture
def start(account: Account, client: ApiClient, queue: str) -> Iterator[Start]:
    """Start workers that run a program, and end them with the test."""
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
    """Register the function of the page, for a queue of ours, and submit a job that names it."""
    ask(client, "PUT", PATH, {**json.loads(TASK), "target": {"type": "sqs", "queueArn": queue}, **fields})
    job: dict[str, Any] = client.create({"handler": PATH.rpartition("/")[2], "payload": payload, "maxRetries": 0})
    return job


def over(client: ApiClient, job: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end of the one run of a job, and return it."""
    until(lambda: [run["status"] in {"succeeded", "failed"} for run in ledger(client, job)] == [True])
    run: dict[str, Any] = client.get(f"/v1/runs/{ledger(client, job)[0]['runId']}")
    return run


def is_empty(account: Account, queue: str) -> bool:
    """Say whether a queue has no message, hidden ones included."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    told = account.client("sqs").get_queue_attributes(QueueUrl=account.queue_url(queue), AttributeNames=names)
    return all(int(told["Attributes"][name]) == 0 for name in names)


def test_it_says_what_the_function_returned_or_why_it_did_not(
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


def test_a_message_that_comes_again_is_deleted_and_nothing_is_done(
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


def test_while_it_works_nobody_else_gets_the_message_and_its_attempt_is_not_lost(
    client: ApiClient, account: Account, queue: str, receiver: Receiver, start: Start
) -> None:
    start(CALLING)
    # Two seconds without a heartbeat and a margin of five would lose the attempt, three would show the message.
    job = submit(client, queue, {"url": f"{receiver.url}/slow/9"}, heartbeatSeconds=2)
    until(lambda: len(receiver.arrivals()) == 1, otherwise="nobody began to work")
    start(CALLING)
    run = over(client, job)
    assert (run["status"], len(run["attempts"]), len(receiver.arrivals())) == ("succeeded", 1, 1)
    until(lambda: is_empty(account, queue))


def test_the_message_of_a_worker_that_is_killed_goes_to_another_and_the_run_ends_once(
    client: ApiClient, account: Account, queue: str, receiver: Receiver, start: Start
) -> None:
    dies = start(CALLING)
    job = submit(client, queue, {"url": f"{receiver.url}/slow/2"})
    until(lambda: len(receiver.arrivals()) == 1, otherwise="nobody began to work")
    dies.kill()
    start(CALLING)
    run = over(client, job)
    assert (run["status"], len(run["attempts"]), len(receiver.arrivals())) == ("succeeded", 1, 2)
    until(lambda: is_empty(account, queue))
