"""The executor function: execute one batch of messages of one priority, or start as another executor's successor."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

from timeball.aws.executors import Succession, parse_succession, trial_answer, trial_in
from timeball.aws.request_retries import Timed, in_time
from timeball.aws.sqs import UnreadableMessageError, parse_message
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.ids import RunId
from timeball.domain.sharing.capacity import CAPACITY
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Term
from timeball.engine.tally import flush_on
from timeball.ports.clock import Clock
from timeball.ports.queue import Delivery
from timeball.ports.target import Trial, Tried
from timeball.runtime.wiring import (
    environment,
    executor_context,
    executor_inboxes,
    executor_successor,
    flush,
    key_ring,
    signing_secrets,
    stack_name,
    start,
    unreadable_queue,
)
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.aws.caller import aws_caller
from timeball.targets.calls import TargetCaller, Trace, make_trial
from timeball.targets.http.addresses import AddressRules, parse_rules
from timeball.targets.http.caller import http_caller

log = logging.getLogger()
log.setLevel(logging.INFO)

_THREADS = 3 * CAPACITY
"""For each slot: one thread that renews its lease, one that writes and one for the queue, so that none waits."""

start(executor_context)


class LambdaContext(Timed, Protocol):
    """The parts of Lambda's context that the function uses."""

    aws_request_id: str


@in_time
def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Process the messages, and report those that are not acknowledged for another delivery.

    An unreadable message is kept elsewhere, because it would come again and again. An event may ask for a trial
    instead.
    """
    trial = trial_in(event)
    if trial is not None:
        return trial_answer(asyncio.run(_try(trial)))
    records: Sequence[Mapping[str, Any]] = event["Records"]
    message_ids: dict[str, str] = {}
    deliveries: list[Delivery] = []
    failed: list[str] = []
    for record in records:
        try:
            named = parse_message(record)
        except UnreadableMessageError as unreadable:
            log.warning("%s", unreadable)
            if not unreadable_queue().keep(record):
                failed.append(record["messageId"])
        else:
            message_ids[named[0].receipt] = record["messageId"]
            deliveries += named
    deadline_at = executor_context().clock.now() + context.get_remaining_time_in_millis()
    succession = parse_succession(event)
    if deliveries or succession:
        queue_arn = succession.queue_arn if succession else records[0]["eventSourceARN"]
        given_back = asyncio.run(_execute(queue_arn, deliveries, context.aws_request_id, deadline_at, succession))
        failed += dict.fromkeys(message_ids[delivery.receipt] for delivery in given_back)
    flush(executor_context())
    log.info("executed", extra={"messages": len(records), "runs": len(deliveries), "returned": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


async def _execute(
    queue_arn: str, deliveries: Sequence[Delivery], owner: str, deadline_at: int, succession: Succession | None
) -> list[Delivery]:
    """Execute as an executor that the queue invoked, which may start a successor, or as a successor, which may not."""
    engine_context, (*above, inbox) = executor_context(), executor_inboxes(queue_arn)
    if succession:
        term = Term(deadline_at, stays_until=succession.until, above=above)
    else:
        term = Term(deadline_at, executor_successor(queue_arn), above=above)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="execute"))
    async with _caller(engine_context.clock) as caller:
        counting = asyncio.create_task(flush_on(engine_context.clock, partial(flush, engine_context)))
        try:
            return await execute(engine_context, inbox, caller, deliveries, owner, term=term)
        finally:
            counting.cancel()


async def _try(trial: Trial) -> Tried:
    clock, trace = executor_context().clock, Trace()
    async with _caller(clock, trace) as caller:
        return await make_trial(caller, trace, trial, clock.now())


@asynccontextmanager
async def _caller(clock: Clock, trace: Trace | None = None) -> AsyncIterator[TargetCaller]:
    signing = http_caller(clock, _address_rules(), sign=_sign, ring=key_ring(), trace=trace)
    allowed = parse_arns(environment().settings.targets, stack_name())
    async with signing as http, aws_caller(clock, _sign, trace=trace, allowed=allowed) as aws:
        yield TargetCaller(http, aws)


def _sign(run: RunId, attempt: int) -> str:
    return token_of(run, attempt, signing_secrets(executor_context()).signing())


def _address_rules() -> AddressRules:
    return parse_rules(environment().settings.private_targets, os.environ.get("AWS_LAMBDA_RUNTIME_API", ""))
