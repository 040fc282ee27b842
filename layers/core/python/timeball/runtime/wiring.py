"""Build the ports from the environment, once per process.

Here is also what one process knows of the secrets that sign tokens. Invariant: a process never uses secrets that it
read `SIGNS_AFTER_MS` ago or earlier, so it knows each secret before that secret signs.
"""

import logging
import os
import random
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final, Literal

from timeball.aws.attempt_lines import AttemptDetail, PrintedAttempts
from timeball.aws.clients import OPERATIONS, wire_client
from timeball.aws.dynamodb.store import DynamoWeights, dynamo_store
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.tenants import dynamo_tenants
from timeball.aws.embedded_metrics import NAMESPACE, EmbeddedMetrics
from timeball.aws.event_bridge import BusNames, EventBridgeBus, EventBridgePublisher
from timeball.aws.executions import AwsExecutions
from timeball.aws.executors import TRYING, ExecutorTrials, LambdaSuccessor, MappingPollers
from timeball.aws.request_retries import BRISKLY, PATIENTLY, REFUSALS, Asker, Patience, within
from timeball.aws.s3 import S3Archive
from timeball.aws.secrets_manager import SecretsManager
from timeball.aws.sqs import Form, SqsInbox, SqsQueue
from timeball.aws.unreadable_queue import UnreadableQueue
from timeball.domain.attempts.callback_token import SIGNS_AFTER_MS, SigningSecrets
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.batches import IN_FLIGHT, Threads
from timeball.engine.context import Context
from timeball.engine.metrics import Detail, shown_metrics, throttled
from timeball.engine.tally import Tally
from timeball.ports.archive import Archive
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import LifecycleBus
from timeball.ports.executors import Successor
from timeball.ports.secrets import SigningSecretStore
from timeball.ports.tenants import Tenants
from timeball.runtime.clock import SystemClock
from timeball.runtime.settings import Environment, parse_provisioned
from timeball.targets.aws.clients import connect
from timeball.targets.http.signing_keys import KeyRing

log = logging.getLogger(__name__)

_THREADS = 20

_POLL_SECONDS = 3
_POLL_THREADS = 2 * _THREADS

_START_SECONDS = 8
"""Lambda gives a function 10 s to load, then starts it again."""

_SECRET_BYTES = 16

_NOBODYS = JobKey("!", "!")

KEPT_MS: Final = MINUTE_MS
"""How long the secrets are used before they are read again."""
KEPT_UNANSWERED_MS: Final = SIGNS_AFTER_MS - MINUTE_MS
"""How long the secrets are used while the store does not answer. The minute allows for clocks that differ."""


@cache
def environment() -> Environment:
    """Return the environment of this process."""
    return Environment.read(os.environ)


def stack_name() -> str:
    """Return the name of the stack, the prefix of its resources' names; only in the API's functions."""
    return os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "").rpartition("-")[0]  # before `api` or `admin`


@cache
def engine_context() -> Context:
    """Return the engine's context over AWS."""
    return _context(PATIENTLY)


@cache
def executor_context() -> Context:
    """Return the context of an executor: no request outlasts a lease, and tenants compete by their weights."""
    context = _context(BRISKLY)
    return replace(context, weights_of=_weights(context.clock, BRISKLY))


@cache
def scan_context() -> Context:
    """Return the context of scans, which serve several tenants at once, by their weights."""
    context = _context(PATIENTLY, IN_FLIGHT * _THREADS)
    # Use separate threads, so that a poll that hangs does not delay the queues.
    threads = ThreadPoolExecutor(_POLL_THREADS, thread_name_prefix="look")
    executions = AwsExecutions(_executions_client, threads)
    beside = Threads(ThreadPoolExecutor(IN_FLIGHT - 1, thread_name_prefix="scan"))
    weights = _weights(context.clock, PATIENTLY)
    return replace(context, weights_of=weights, executions=executions, side_by_side=beside)


def start(engine_context: Callable[[], Context]) -> None:
    """Build a function's context as it is loaded, and query its table once, so that its first event finds connections.

    Outside of a function, nothing is done. A missing variable is reported at once; a table that does not answer may do
    so later.
    """
    if "AWS_LAMBDA_FUNCTION_NAME" not in os.environ:
        return
    store = engine_context().store
    try:
        with within(_START_SECONDS):
            store.jobs.read([_NOBODYS])
    except Exception:
        log.exception("not connected yet")


def flush(context: Context) -> None:
    """Add this process's counts to the stored ones, unless that was done just now. Never raises."""
    throttled(context, REFUSALS.take())
    _tally().flush(context.store.usage)


@cache
def tenants() -> Tenants | None:
    """Return tenants and API keys, in the one function whose environment names their table."""
    table = os.environ.get("TIMEBALL_TENANTS_TABLE")
    return dynamo_tenants(_client("dynamodb", PATIENTLY.patience), table) if table else None


@cache
def event_bus() -> EventBridgeBus | None:
    """Return the bus of events, in the functions whose environment names it."""
    if "TIMEBALL_EVENT_BUS" not in os.environ:
        return None
    names = BusNames(
        bus=os.environ["TIMEBALL_EVENT_BUS"],
        queue_arn=os.environ["TIMEBALL_EVENTS_ARN"],
        undelivered_arn=os.environ["TIMEBALL_UNDELIVERED_ARN"],
        queue_url=os.environ["TIMEBALL_EVENTS_URL"],
    )
    return EventBridgeBus(
        lambda: _client("events", PATIENTLY.patience), names, queue=lambda: _client("sqs", PATIENTLY.patience)
    )


@cache
def trials() -> ExecutorTrials | None:
    """Return the port that makes trials, in the one function whose environment names an executor for them."""
    function = os.environ.get("TIMEBALL_TRIALS")
    return ExecutorTrials(lambda: _client("lambda", TRYING.patience), function) if function else None


@cache
def pollers() -> MappingPollers | None:
    """Return the pollers that the scan may raise; None if its environment names none."""
    mappings = parse_provisioned(os.environ.get("TIMEBALL_PROVISIONED", ""))
    return MappingPollers(lambda: _client("lambda", BRISKLY.patience), mappings) if mappings else None


@cache
def signing_secrets(context: Context) -> "KnownSecrets":
    """Return the secrets that sign the tokens of attempts; they are read only if one is needed."""
    return KnownSecrets(context.store.signing, context.clock, partial(secrets.token_hex, 32))


@cache
def key_ring() -> KeyRing:
    """Return the keys that sign webhooks, as far as this process has read them."""
    secrets = SecretsManager(lambda: _client("secretsmanager", BRISKLY.patience), BRISKLY)
    return KeyRing(secrets, environment().settings.webhook_secrets, SystemClock())


@cache
def archive() -> Archive:
    """Return the archive, in the one function whose environment names its bucket."""
    bucket = os.environ["TIMEBALL_ARCHIVE_BUCKET"]
    return S3Archive(_client("s3", PATIENTLY.patience), bucket, _queue_threads(), PATIENTLY)


@cache
def lifecycle_bus() -> LifecycleBus:
    """Return the bus for lifecycle events, in the one function whose environment names it."""
    bus = os.environ["TIMEBALL_LIFECYCLE_BUS"]
    return EventBridgePublisher(_client("events", PATIENTLY.patience), bus, _queue_threads(), PATIENTLY)


def unreadable_queue() -> UnreadableQueue:
    """Return the queue that keeps unreadable messages."""
    return UnreadableQueue(_client("sqs", BRISKLY.patience), environment().queue_unreadable, BRISKLY)


def executor_inboxes(queue_arn: str) -> list[SqsInbox]:
    """Return the receiving sides of the queues of higher priorities, and last of the queue that an event came from."""
    name = queue_arn.rpartition(":")[2]
    inboxes: list[SqsInbox] = []
    for priority in Priority:
        url = environment().queues[priority]
        is_own = url.rpartition("/")[2] == name
        waits_seconds = 1 if is_own else 0  # never wait for messages of higher priorities here
        inboxes.append(SqsInbox(_client("sqs", BRISKLY.patience), url, _queue_threads(), BRISKLY, waits_seconds))
        if is_own:
            return inboxes
    raise LookupError(f"queue {name} is none of TIMEBALL_QUEUE_HIGH, _NORMAL and _LOW")


def executor_successor(queue_arn: str, draw: Callable[[], float] = random.random) -> Successor | None:
    """Return the port that starts the successor of an executor of a queue; None if it has none, by chance."""
    if 100 * draw() >= int(os.environ.get("TIMEBALL_SUCCESSOR_PERCENT", "0")):
        return None
    return LambdaSuccessor(lambda: _client("lambda", BRISKLY.patience), os.environ["TIMEBALL_SUCCESSOR"], queue_arn)


class KnownSecrets:
    """The secrets of a process, for signing and verifying tokens; `draw` returns a secret that no other process has."""

    def __init__(self, signing: SigningSecretStore, clock: Clock, draw: Callable[[], str]) -> None:
        self._signing, self._clock, self._draw = signing, clock, draw
        self._read: tuple[int, SigningSecrets] | None = None

    def signing(self) -> str:
        """Return the secret that signs. Raises UnavailableError."""
        return self._known().signing(self._clock.now())

    def accepted(self) -> tuple[str, ...]:
        """Return the secrets whose tokens are accepted. Raises UnavailableError."""
        return self._known().accepted(self._clock.now())

    def _known(self) -> SigningSecrets:
        now = self._clock.now()
        if self._read is not None and now < self._read[0] + KEPT_MS:
            return self._read[1]
        try:
            secrets = self._signing.secrets(self._draw())
        except UnavailableError:
            if self._read is not None and now < self._read[0] + KEPT_UNANSWERED_MS:
                return self._read[1]
            raise
        self._read = now, secrets
        return secrets


def _context(asker: Asker, threads: int = _THREADS) -> Context:
    found, clock = environment(), SystemClock()
    rules = found.settings.rules
    store = dynamo_store(
        _client("dynamodb", asker.patience),
        found.jobs_table,
        mapper=found.settings.mapper,
        writes=found.settings.writes,
        threads=threads,
        asker=asker,
    )
    sqs, form = _client("sqs", asker.patience), Form(rules.lead, rules.runs_per_message)
    queue = SqsQueue(sqs, found.queues, found.queue_watch, clock, _queue_threads(), asker, form)
    lines = PrintedAttempts(AttemptDetail(found.settings.attempt_log))
    secret = secrets.token_bytes(_SECRET_BYTES)
    return Context(
        store, queue, clock, rules, _tally(), shard_secret=secret, attempt_log=lines, console=found.console_in_notices
    )


def _weights(clock: Clock, asker: Asker) -> DynamoWeights:
    table = os.environ["TIMEBALL_TENANTS_TABLE"]
    return DynamoWeights(TableReader(_client("dynamodb", asker.patience), table, asker), clock)


def _executions_client(service: str, region: str) -> Any:  # noqa: ANN401 - as boto3 makes them
    """Return a client that never delays a scan for long."""
    return connect(service, region, _POLL_SECONDS)


@cache
def _tally() -> Tally:
    clock = SystemClock()
    shown = shown_metrics(Detail(environment().settings.metrics))
    namespace = os.environ.get("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE)
    return Tally(clock, EmbeddedMetrics(clock, shown, namespace))


@cache
def _client(service: Literal["dynamodb", "events", "lambda", "s3", "secretsmanager", "sqs"], patience: Patience) -> Any:  # noqa: ANN401 - as boto3 makes them
    if service in OPERATIONS and environment().settings.aws_client == "thin":
        return wire_client(service, patience)
    import boto3  # noqa: PLC0415 - slow, and few functions need it

    return boto3.client(service, config=patience.config())


@cache
def _queue_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="queue")
