"""Each message between functions, as today's code writes it, and what today's code reads in it.

During a deployment old code reads what new code writes, and the other way round. A message has no version: keys are
only ever added, and a reader does without them, and without those that it does not know.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from infra.ticker import DEFINITION
from tests.contract.rows import NOW, run, work
from timeball.aws.event_bridge import BusNames, EventBridgeBus, parse_matched
from timeball.aws.executors import ExecutorTrials, LambdaSuccessor, parse_succession, trial_in
from timeball.aws.sqs import SqsInbox, SqsQueue, parse_message, parse_watch
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.terms.event import BusRule, Event, Matched, SubscriptionKey, from_the_bus
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery, Watch
from timeball.ports.target import Trial
from timeball.testing.virtual_clock import VirtualClock

ATTRIBUTES = {"id": "1", "source": "shop", "type": "placed", "specversion": "1.0", "data": {"n": 1}}
RULE = BusRule(SubscriptionKey("acme", "a" * 16), 2)


class Outbox:
    """An AWS that keeps what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def send_message_batch(self, *, Entries: Sequence[Mapping[str, Any]], **_: object) -> Mapping[str, Any]:  # noqa: N803 - as AWS
        self.bodies += [one["MessageBody"] for one in Entries]
        return {"Successful": [{"Id": one["Id"]} for one in Entries]}

    def put_events(self, *, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803 - as AWS
        self.bodies += [one["Detail"] for one in Entries]
        return {"Entries": [{} for _ in Entries], "FailedEntryCount": 0}

    def invoke(self, *, Payload: bytes | str, **_: object) -> Mapping[str, Any]:  # noqa: N803 - as AWS
        self.bodies.append(Payload.decode() if isinstance(Payload, bytes) else Payload)
        raise UnavailableError("nobody answers")


def messages_now() -> dict[str, Any]:
    """Return each message as today's code sends it."""
    box: Any = Outbox()
    names = BusNames("bus", "queue", "undelivered", "url")
    event = Event("acme", ATTRIBUTES, NOW, 1)
    trials, successor = ExecutorTrials(lambda: box, "execute"), LambdaSuccessor(lambda: box, "execute", "queue")
    bus = EventBridgeBus(lambda: box, names, queue=lambda: box)
    runs = [run(), run(NOW + 1)]
    with ThreadPoolExecutor(1) as threads:
        queue = SqsQueue(box, {"normal": "url"}, "url", VirtualClock(NOW), threads)
        inbox = SqsInbox(box, "url", threads)
        sends: dict[str, Callable[[], object]] = {
            "run": lambda: queue.send(runs[:1], NOW),
            "run, sent back": lambda: inbox.send_again([Delivery(one.id, "receipt", NOW, 2, 2) for one in runs]),
            "watch": lambda: queue.watch(
                [Watch((runs[0].id, RunId(JobKey("b", "c"), NOW, runs[0].id.origin)), NOW, 3)]
            ),
            "match, put off": lambda: bus.put_off([(Matched(RULE, event, "a", again=True), 9)]),
            "event": lambda: bus.put([event]),
            "successor": lambda: successor.start(NOW),
            "trial": lambda: trials.make(Trial("acme", work(), 9)),
        }
        sent = {name: _first(box, send) for name, send in sends.items()}
    return sent | _of_the_ticker()


def _first(box: Outbox, send: Callable[[], object]) -> Any:
    """Return the first message of a sender. An invocation gets no answer here, so it is repeated."""
    box.bodies.clear()
    with suppress(UnavailableError):
        send()
    return json.loads(box.bodies[0])


def _of_the_ticker() -> dict[str, Any]:
    """Return what the ticker's state machine hands to the scan, what it reads in the answer, and its own input."""
    text = DEFINITION.read_text()
    states = json.loads(text)["States"]["Partitions"]["ItemProcessor"]["States"]
    return {
        "tick": dict.fromkeys(states["Scan"]["Arguments"]["Payload"], ""),
        "tick's owner": dict.fromkeys(json.loads(text)["States"]["Partitions"]["ItemSelector"]["owner"], ""),
        "answer to a tick": dict.fromkeys(re.findall(r"result\.Payload\.(\w+)", text), ""),
        "ticker": dict.fromkeys(re.findall(r"states\.input\.(partitions|seconds|standby)\b", text), ""),
    }


def _record(message: Any) -> dict[str, Any]:
    return {"body": json.dumps(message), "receiptHandle": "receipt", "messageId": "1"}


READERS: Mapping[str, Callable[[Any], object]] = {
    "run": lambda message: parse_message(_record(message)),
    "run, sent back": lambda message: parse_message(_record(message)),
    "watch": lambda message: parse_watch(_record(message)),
    "match, put off": lambda message: parse_matched(_record(message)),
    "event": lambda message: from_the_bus("acme", message),
    "successor": parse_succession,
    "trial": trial_in,
}
"""How each message is read."""

_SAYS = (
    "The message {name!r} of {release} has {path} as {was}, today's has {now}: processes of both releases send and "
    "read it during a deployment. Keep the key and its type, and add another key beside it (CONTRIBUTING.md, "
    "'Changing a row')"
)


def complaints_about_messages(kept: Mapping[str, Any], release: str, now: Mapping[str, Any]) -> Iterator[str]:
    """Say which keys of a release's messages today's no longer have."""
    for name, message in kept.items():
        today = dict(_paths(now.get(name), ""))
        for path, kind in _paths(message, ""):
            if today.get(path) != kind:
                yield _SAYS.format(name=name, release=release, path=path, was=kind, now=today.get(path, "nothing"))


def with_more(message: Any) -> Any:
    """Return a message with a key more in each of its objects, as a later release may send it."""
    if isinstance(message, dict):
        return {**{name: with_more(value) for name, value in message.items()}, "later": {"n": 1}}
    return [with_more(one) for one in message] if isinstance(message, list) else message


def _paths(message: Any, path: str) -> Iterator[tuple[str, str]]:
    yield path or "itself", type(message).__name__
    if isinstance(message, dict):
        for name, value in message.items():
            yield from _paths(value, f"{path}.{name}")
    elif isinstance(message, list) and message:
        yield from _paths(message[0], f"{path}[]")
