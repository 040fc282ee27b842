"""A worker sees each attempt through: claim, heartbeats, the report of its end, and only then the message."""

import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.cli.commands import URL, Shell, Stream
from tests.cli.queues import QUEUE, Queue
from tests.console.world import World
from timeball.aws.signing import Credentials
from timeball.cli.connection import connect_to
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings
from timeball.cli.work.attempts import Ending, QueuedAttempt
from timeball.cli.work.credentials import FoundCredentials
from timeball.cli.work.pulling import Pull, stop_all
from timeball.cli.work.queue_client import QueueClient, region_of
from timeball.client.errors import ConfigurationError, Unavailable
from timeball.client.profiles import Profile
from timeball.domain.model.ids import RunId

SECONDS_OF_HEARTBEATS = 600


@dataclass
class Scripted:
    """An effort that goes on for some heartbeats, and what it was told."""

    beats: int = 0
    ending: Ending = field(default_factory=lambda: Ending({"rows": 17}))
    waited: list[float] = field(default_factory=list)
    stops: int = 0
    meanwhile: Any = None

    def wait(self, seconds: float) -> Ending | None:
        self.waited.append(seconds)
        if self.stops:
            return Ending(error="The command ended when it was stopped.")
        if len(self.waited) > self.beats:
            return self.ending
        if self.meanwhile is not None:
            self.meanwhile()
        return None

    def stop(self) -> None:
        self.stops += 1


class Scene:
    """A run that waits for its worker, and the worker."""

    def __init__(self, **job: Any) -> None:
        self.world = World()
        fields = {"completion": "callback", "heartbeatSeconds": SECONDS_OF_HEARTBEATS, "timeoutSeconds": 3600, **job}
        self.world.send("PUT", "/v1/jobs/report", {"handler": "https://shop.example/accept", "maxRetries": 0, **fields})
        self.world.advance(5)
        self.run: RunId = self.world.target.calls[0].run
        self.queue = Queue(self.world)
        self.effort = Scripted()
        self.begun: list[QueuedAttempt] = []
        self.log = Stream()
        around = Surroundings(
            now=self.world.clock.now, pause=self.world.advance, stderr=self.log, transport=self.queue, environment={}
        )
        now = self.world.clock.now
        client = QueueClient(
            QUEUE, "eu-west-1", httpx.Client(transport=self.queue), lambda: Credentials("a", "b"), lambda: now() / 1000
        )
        self.pull = Pull(around, connect_to(around, Profile(URL, "")), client, self._begin)
        self.queue.when_empty = self.pull.is_draining.set

    def _begin(self, work: QueuedAttempt) -> Scripted:
        self.begun.append(work)
        return self.effort

    def see_through(self) -> None:
        message = self.pull.queue.receive()
        assert message is not None
        self.pull.see_through(message)

    @property
    def state(self) -> Any:
        return self.world.send("GET", f"/v1/runs/{self.run}")


@pytest.fixture
def scene() -> Iterator[Scene]:
    scene = Scene()
    yield scene
    scene.world.close()


def test_work_that_is_done_completes_the_run_and_deletes_the_message(scene: Scene) -> None:
    scene.queue.send(scene.run, payload='{"report": "tax"}')
    scene.see_through()
    assert (scene.state["status"], scene.state["result"]["body"]) == ("succeeded", '{"rows":17}')
    assert scene.begun[0].payload == '{"report": "tax"}'
    assert scene.queue.did[-1] == "DeleteMessage"
    assert scene.queue.messages == []


def test_work_that_fails_fails_the_run_with_its_reason(scene: Scene) -> None:
    scene.effort.ending = Ending(error="The warehouse is closed.")
    scene.queue.send(scene.run)
    scene.see_through()
    assert scene.state["status"] == "failed"
    assert scene.state["attempts"][0]["error"] == "The warehouse is closed."


def test_long_work_sends_heartbeats_and_hides_its_message_meanwhile(scene: Scene) -> None:
    scene.effort.beats = 3
    scene.effort.meanwhile = lambda: scene.world.advance(300)
    scene.queue.send(scene.run)
    scene.see_through()
    assert scene.effort.waited == [20.0] * 4
    assert scene.queue.did.count("ChangeMessageVisibility") == 5
    assert scene.state["status"] == "succeeded"


def test_heartbeats_are_as_frequent_as_the_job_wants_them() -> None:
    scene = Scene(heartbeatSeconds=30)
    scene.queue.send(scene.run)
    scene.see_through()
    assert scene.effort.waited == [10.0]
    scene.world.close()


def test_a_cancelled_run_stops_its_work(scene: Scene) -> None:
    scene.effort.beats = 5
    scene.effort.meanwhile = lambda: scene.world.send("POST", f"/v1/runs/{scene.run}/cancel")
    scene.queue.send(scene.run)
    scene.see_through()
    assert (scene.effort.stops, scene.state["status"]) == (1, "cancelled")
    assert scene.queue.messages == []


def test_work_whose_attempt_is_over_is_stopped_and_not_reported(scene: Scene) -> None:
    scene.effort.beats = 5
    scene.effort.meanwhile = lambda: scene.world.advance(SECONDS_OF_HEARTBEATS + 60)
    scene.queue.send(scene.run)
    scene.see_through()
    assert scene.effort.stops == 1
    assert scene.state["attempts"][0]["outcome"] == "lost"
    assert scene.queue.messages == []


def test_a_message_whose_attempt_is_not_under_way_is_deleted_and_nothing_is_done(scene: Scene) -> None:
    scene.queue.send(scene.run, attempt=2)
    scene.see_through()
    assert (scene.begun, scene.queue.messages) == ([], [])
    assert scene.state["status"] == "running"


def test_a_message_whose_token_the_api_does_not_know_is_left_in_the_queue(scene: Scene) -> None:
    scene.queue.send(scene.run, also={"Timeball-Callback-Token": "tba_acme_1_" + "0" * 64})
    with pytest.raises(CommandError, match="takes no report on it"):
        scene.pull.run()
    assert (scene.begun, len(scene.queue.messages)) == ([], 1)


def test_a_message_of_a_stranger_is_left_in_the_queue(scene: Scene) -> None:
    scene.queue.messages = [{"ReceiptHandle": "r", "Body": "hello"}]
    scene.see_through()
    assert (scene.begun, scene.queue.did) == ([], ["ReceiveMessage"])


@pytest.mark.parametrize(("ending", "left"), [(Ending(), 0), (Ending(error="exit 1"), 1)])
def test_without_a_token_the_message_alone_says_whether_the_work_was_done(
    scene: Scene, ending: Ending, left: int
) -> None:
    scene.effort.ending = ending
    scene.queue.send(scene.run, also={"Timeball-Callback-Token": ""})
    scene.see_through()
    assert len(scene.begun) == 1
    assert len(scene.queue.messages) == left
    assert scene.state["status"] == "running"


def test_a_refused_result_fails_the_run(scene: Scene) -> None:
    scene.effort.ending = Ending("x" * 20_000)
    scene.queue.send(scene.run)
    scene.see_through()
    assert scene.state["attempts"][0]["error"] == "The result was refused."


def test_a_report_is_sent_again_until_the_api_answers(scene: Scene) -> None:
    answers = [503, 503, 503, 503, 503, 503, 503]
    inner = scene.queue.handle_request

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/complete") and answers:
            return httpx.Response(answers.pop(), json={"detail": "Later."})
        return inner(request)

    scene.queue.handle_request = handle  # type: ignore[method-assign]
    scene.queue.send(scene.run)
    scene.see_through()
    assert answers == []
    assert scene.state["status"] == "succeeded"


def test_a_drain_ends_after_the_work_under_way_and_gives_a_late_message_back(scene: Scene) -> None:
    scene.queue.send(scene.run)
    scene.effort.meanwhile = scene.pull.is_draining.set
    scene.effort.beats = 1
    scene.pull.run()
    assert scene.state["status"] == "succeeded"
    assert scene.queue.did[-1] == "DeleteMessage"
    scene.queue.send(scene.run)
    message = scene.pull.queue.receive()
    assert message is not None
    scene.pull._take(0, message)
    assert scene.queue.asked[-1] == (
        "ChangeMessageVisibility",
        {"QueueUrl": QUEUE, "ReceiptHandle": f"receipt-{scene.run}", "VisibilityTimeout": 0},
    )


def test_a_second_signal_stops_the_work_under_way(scene: Scene) -> None:
    begun, stopped = threading.Event(), threading.Event()

    class Endless(Scripted):
        def wait(self, seconds: float) -> Ending | None:
            del seconds
            begun.set()
            stopped.wait()
            return Ending(error="The command ended when it was stopped.")

        def stop(self) -> None:
            stopped.set()

    scene.effort = Endless()
    scene.queue.send(scene.run)
    worker = threading.Thread(target=scene.pull.run, daemon=True)
    worker.start()
    begun.wait()
    scene.pull.is_stopped.set()
    scene.pull.is_draining.set()
    worker.join()
    assert scene.state["status"] == "failed"


def _answered(scene: Scene, word: str, answer: httpx.Response) -> None:
    """Let one kind of report have another answer."""
    inner = scene.queue.handle_request

    def handle(request: httpx.Request) -> httpx.Response:
        return answer if request.url.path.endswith(f"/{word}") else inner(request)

    scene.queue.handle_request = handle  # type: ignore[method-assign]


# Each answer says nothing about the attempt: it is another server's, or about the token.
FOREIGN = {
    "a key that is not valid": httpx.Response(401, json={"type": "urn:timeball:problem:unauthenticated"}),
    "a firewall": httpx.Response(403, json={"message": "Forbidden"}),
    "no such path": httpx.Response(404, json={"message": "Not Found"}),
    "a proxy that lost the request": httpx.Response(408),
    "another host": httpx.Response(421),
    "somewhere else": httpx.Response(302, headers={"Location": "/"}),
    "nothing": httpx.Response(204),
    "another API": httpx.Response(200, json={"ok": True}),
    "a page": httpx.Response(200, html="<p>Welcome</p>"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_an_answer_that_says_nothing_about_the_attempt_ends_the_worker_and_leaves_the_message(
    scene: Scene, case: str
) -> None:
    _answered(scene, "heartbeat", FOREIGN[case])
    scene.queue.send(scene.run)
    with pytest.raises((CommandError, ConfigurationError), match=URL):
        scene.pull.run()
    assert (scene.begun, len(scene.queue.messages)) == ([], 1)
    assert scene.queue.asked[-1][1]["VisibilityTimeout"] == 0


def test_work_that_can_send_no_more_heartbeats_is_stopped_and_its_message_goes_back(scene: Scene) -> None:
    scene.effort.beats = 5
    scene.effort.meanwhile = lambda: _answered(scene, "heartbeat", FOREIGN["a firewall"])
    scene.queue.send(scene.run)
    with pytest.raises(CommandError, match="Compare the URL"):
        scene.pull.run()
    assert (scene.effort.stops, len(scene.queue.messages)) == (1, 1)


@pytest.mark.parametrize("result", [float("nan"), "\ud800", json.loads("[" * 900 + "]" * 900)])
def test_a_result_that_cannot_be_sent_fails_the_run_and_not_the_worker(scene: Scene, result: object) -> None:
    scene.effort.ending = Ending(result)
    scene.queue.send(scene.run)
    scene.see_through()
    assert scene.state["attempts"][0]["error"] == "The result cannot be sent as JSON."
    assert scene.queue.messages == []


def _stopped_during_the_work(scene: Scene) -> None:
    def signals() -> None:
        scene.pull.is_draining.set()
        scene.pull.is_stopped.set()

    scene.effort.meanwhile, scene.effort.beats = signals, 1
    scene.queue.send(scene.run)
    scene.pull.run()


def test_a_second_signal_ends_a_worker_that_the_api_puts_off(scene: Scene) -> None:
    for word in ("complete", "fail"):
        _answered(scene, word, httpx.Response(503, json={"detail": "Later."}))
    with pytest.raises(Unavailable, match="Later"):
        _stopped_during_the_work(scene)
    assert len(scene.queue.messages) == 1


def test_a_second_signal_ends_a_worker_that_the_api_does_not_answer(scene: Scene) -> None:
    inner, answers = scene.queue.handle_request, threading.Event()

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith(("/complete", "/fail")):
            answers.wait(20)
        return inner(request)

    scene.queue.handle_request = handle  # type: ignore[method-assign]
    scene.pull.last_seconds = 0.2
    with pytest.raises(CommandError, match="attempts without a report: 1"):
        _stopped_during_the_work(scene)
    answers.set()


def test_all_work_is_stopped_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=10)

    class Stubborn(Scripted):
        """Its stop returns only when the other one is stopping too."""

        def stop(self) -> None:
            both.wait()

    stop_all([Stubborn(), Stubborn()])
    assert not both.broken


# Each case: what SQS answers, the exit status, and words of the sentence.
REFUSALS = {
    "no rights": (
        {"__type": "com.amazonaws.sqs#AccessDeniedException", "message": "no"},
        Status.NOT_ALLOWED,
        "AccessDenied",
    ),
    "no queue": ({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "gone"}, Status.NOT_FOUND, "gone"),
    "anything else": ({"__type": "x#InvalidSomething", "message": "bad"}, Status.USAGE, "InvalidSomething: bad"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_queue_that_refuses_ends_the_worker(shell: Shell, case: str) -> None:
    answer, status, words = REFUSALS[case]
    shell.transport = Queue(shell.world, refuses=answer)
    shell.environment |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    done = shell("worker", "--queue", QUEUE, "--exec", "true")
    assert (done.status, done.stdout) == (status, "")
    assert words in done.stderr


def test_a_worker_runs_a_command_for_a_message_and_signs_its_requests() -> None:
    scene = Scene()
    shell = Shell(scene.world, {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "b"}, transport=scene.queue)
    scene.queue.send(scene.run, payload='{"rows": 3}')
    scene.queue.when_empty = once(_end_worker)
    code = "import json, os, sys; print(json.dumps([json.load(sys.stdin), os.environ['TIMEBALL_JOB_ID']]))"
    done = shell("worker", "--queue", QUEUE, "--exec", shlex.join([sys.executable, "-c", code]))
    assert done.status == 0
    assert scene.state["result"]["body"] == '[{"rows":3},"report"]'
    assert scene.queue.headers[0]["authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKID/20261123/eu-west-1/sqs/aws4_request"
    )
    scene.world.close()


def once(action: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does something at its first call only."""
    left = [action]
    return lambda: left.pop()() if left else None


def _end_worker() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


# Each case: the URL of a queue, the environment, and the region.
REGIONS = {
    "in the host": ("https://sqs.eu-west-1.amazonaws.com/1/q", {}, "eu-west-1"),
    "in an old host": ("https://us-east-1.queue.amazonaws.com/1/q", {}, "us-east-1"),
    "in China": ("https://sqs.cn-north-1.amazonaws.com.cn/1/q", {}, "cn-north-1"),
    "in the environment": ("http://127.0.0.1:4566/1/q", {"AWS_REGION": "eu-central-1"}, "eu-central-1"),
    "the default": ("http://127.0.0.1:4566/1/q", {"AWS_DEFAULT_REGION": "us-east-2"}, "us-east-2"),
}


@pytest.mark.parametrize("case", REGIONS)
def test_the_region_of_a_queue_is_known(case: str) -> None:
    url, environment, region = REGIONS[case]
    assert region_of(url, environment) == region


def test_credentials_of_the_environment_win() -> None:
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c"}
    assert FoundCredentials(environment, lambda: 0.0)() == Credentials("a", "b", "c")


def test_credentials_of_the_aws_cli_are_asked_for_again_before_they_end() -> None:
    at = [0.0]
    asked: list[Sequence[str]] = []

    def answer(command: Sequence[str]) -> str:
        asked.append(command)
        return '{"AccessKeyId": "a", "SecretAccessKey": "b", "SessionToken": "c", "Expiration": "1970-01-01T01:00:00Z"}'

    found = FoundCredentials({}, lambda: at[0], answer)
    assert found() == found() == Credentials("a", "b", "c")
    assert asked == [("aws", "configure", "export-credentials", "--format", "process")]
    at[0] = 3400.0
    found()
    assert len(asked) == 2


def test_without_credentials_it_says_where_they_may_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CommandError, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or install the AWS CLI"):
        FoundCredentials({}, lambda: 0.0)()
