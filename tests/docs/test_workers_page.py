"""The worker in docs/workers.md does what the page says: run as it stands there, on a queue of moto's and the API."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from functions.api.app import build_api
from tests.api.client import SECRET, Api
from tests.api.runs.rows import LEASE_MS, MARGIN_MS, row
from tests.contract.backends import DUMMY, REGION, client, moto
from tests.docs.readme import ROOT, read
from tests.docs.test_webhooks_page import Bridge, serving, url_of
from timeball.domain.attempts.callback import handed_over
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.run import Run
from timeball.domain.model.target import SqsTarget
from timeball.domain.model.transitions import claimed
from timeball.domain.model.work import Work
from timeball.ports.target import Call
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.aws.requests import request_of
from timeball.targets.envelope import facts_of

PAGE = read(ROOT / "docs/workers.md")
(SOURCE,) = re.findall(r"^<!-- example: worker -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(PATH, TASK) = re.findall(r"^PUT (\S+)\n\n(\{.*?^\})\n```$", PAGE, re.DOTALL | re.MULTILINE)[0]
ARN = f"arn:aws:sqs:{REGION}:123456789012:functions"


class Death(BaseException):
    """What nobody catches: the end of a worker's process."""


class Scene:
    """A queue with one message of a run that is under way, the API, and workers that a test starts."""

    def __init__(self, api: Api, bridge: Bridge) -> None:
        api.handle = build_api(replace(api.edge, allowed=parse_arns("arn:aws:sqs:*")))
        self.api, self.bridge, self.sqs = api, bridge, client("sqs")
        self.url = self.sqs.create_queue(QueueName="functions")["QueueUrl"]
        task = {**json.loads(TASK), "target": {"type": "sqs", "queueArn": ARN}}
        assert api.call("PUT", PATH, task).status == 201
        self.run = self._put(api.create(handler="resize-image", payload={"image": 7}))

    def worker(self) -> Any:
        """Start the worker of the page, as a module; nothing of it runs by itself."""
        module = ModuleType("worker")
        exec(compile(SOURCE, "docs/workers.md", "exec"), vars(module))  # noqa: S102 - it is our own page
        return module

    def words(self, count: int) -> list[tuple[str, int]]:
        return self.bridge.words(count)

    def waiting(self) -> int:
        """Count the messages in the queue, hidden ones too."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return sum(map(int, told.values()))

    def _put(self, job: Any) -> Run:
        """Hand the job's run over to the queue, as an executor does."""
        now = self.api.clock.now()
        run = claimed(self.api.only_run(), "executor", now, LEASE_MS)
        stored = self.api.store.jobs[run.id.job]
        task = self.api.store.tasks[TaskKey("acme", job["taskId"])]
        spec = replace(stored.spec, completion=task.spec.completion, heartbeat_seconds=task.spec.heartbeat_seconds)
        self.api.put(handed_over(run, replace(stored, spec=spec), now, now, MARGIN_MS))
        payload = self.api.work_of(job["jobId"]).payload
        target = SqsTarget(ARN)
        call = Call(run.id, 1, Work(target, payload), 840, (), takes_report=True, task_id=job["taskId"])
        asked = dict(request_of(target, call, facts_of(call, token_of(run.id, 1, SECRET))).arguments)
        self.sqs.send_message(**{**asked, "QueueUrl": self.url})
        return self.api.only_run()


@pytest.fixture
def scene(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    bridge = Bridge(api)
    with moto(), serving(bridge.server):
        scene = Scene(api, bridge)
        monkeypatch.setenv("API", url_of(bridge.server))
        monkeypatch.setenv("QUEUE_URL", scene.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        for name, value in DUMMY.items():
            monkeypatch.setenv(name.upper(), value)
        yield scene


def test_it_completes_the_run_and_deletes_its_message_last(scene: Scene) -> None:
    scene.worker().take()
    assert scene.words(2) == [("heartbeat", 200), ("complete", 200)]
    assert row(scene.api, str(scene.run.id)).state == "succeeded"
    result = scene.api.call("GET", f"/v1/runs/{scene.run.id}").body["result"]
    assert json.loads(result["body"]) == {"resized": 7}
    assert scene.waiting() == 0


def test_work_that_fails_is_told_and_its_message_is_deleted_for_the_next_attempt_has_another(scene: Scene) -> None:
    worker = scene.worker()
    worker.FUNCTIONS = {}
    worker.take()
    assert scene.words(2) == [("heartbeat", 200), ("fail", 200)]
    assert row(scene.api, str(scene.run.id)).state == "retrying"
    assert scene.waiting() == 0


def test_when_a_worker_dies_another_one_does_the_work_in_the_same_attempt(scene: Scene) -> None:
    def die(_: Any) -> None:
        raise Death

    worker = scene.worker()
    worker.FUNCTIONS = {"resize-image": die}
    worker.SECONDS = 0  # as if its minute were over at once
    worker.keep = lambda *_: None  # which dies with it
    with pytest.raises(Death):
        worker.take()
    assert scene.waiting() == 1
    scene.worker().take()
    assert scene.words(3) == [("heartbeat", 200), ("heartbeat", 200), ("complete", 200)]
    assert scene.waiting() == 0
    found = row(scene.api, str(scene.run.id))
    assert (found.state, found.attempt) == ("succeeded", 1)


def test_a_message_of_an_older_attempt_is_deleted_and_nothing_is_done(scene: Scene) -> None:
    scene.api.put(claimed(scene.run, "another", scene.api.clock.now(), LEASE_MS))
    worker = scene.worker()
    worker.FUNCTIONS = {}
    worker.take()
    assert scene.words(1) == [("heartbeat", 409)]
    assert scene.bridge.heard.empty()
    assert scene.waiting() == 0


def test_while_it_works_it_keeps_the_message_hidden_and_sends_heartbeats(scene: Scene) -> None:
    hidden: list[int] = []
    waited: list[float] = []

    class Over:
        def wait(self, seconds: float) -> bool:
            waited.append(seconds)
            return len(waited) > 2

    worker = scene.worker()
    (message,) = scene.sqs.receive_message(QueueUrl=scene.url, MessageAttributeNames=["All"])["Messages"]
    facts = {name: one["StringValue"] for name, one in message["MessageAttributes"].items()}
    change = worker.sqs.change_message_visibility

    def hide(**given: Any) -> None:
        hidden.append(given["VisibilityTimeout"])
        change(**given)

    worker.sqs.change_message_visibility = hide
    worker.keep(facts, {"QueueUrl": scene.url, "ReceiptHandle": message["ReceiptHandle"]}, Over())
    assert (hidden, waited) == ([60, 60], [20, 20, 20])
    assert scene.words(2) == [("heartbeat", 200)] * 2
