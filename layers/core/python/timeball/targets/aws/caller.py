"""Call targets of AWS: one request, in a thread of its own, and one answer.

Invariants: the loop never waits for AWS; a request is sent at most once. A call without an answer is given up at its
timeout, and its thread is left behind until the client gives up.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar, TypeVarTuple

from timeball.domain.model.terms.target import AwsTarget, HttpTarget, is_followed
from timeball.domain.sharing.capacity import CAPACITY
from timeball.domain.templates.template import TemplateError
from timeball.ports.clock import Clock
from timeball.ports.target import Answer, Call
from timeball.targets.aws.allowed import AllowedArns, too_large
from timeball.targets.aws.clients import Connect, connect
from timeball.targets.aws.requests import AwsRequest, request_of, shown
from timeball.targets.aws.verdict import BODY_BYTES, AwsReply, answered, refused, reply_of
from timeball.targets.calls import Trace, unanswered, unsent
from timeball.targets.envelope import Sign, facts_of

_T = TypeVar("_T")
_Given = TypeVarTuple("_Given")

_UNLISTED = (
    "The target was not called: this tenant may not use it in this deployment. The setting timeball:targets lists the "
    "targets that may be called."
)
_WAITS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""How long clients wait for an answer, in seconds: the first value that the timeout of a call fits into.

So a thread is left behind for about the time of its call at the most: otherwise short calls of slow functions would
occupy all threads.
"""

_THREADS = 2 * CAPACITY
"""One for each call that is under way, and as many for threads that their calls have left behind."""


@asynccontextmanager
async def aws_caller(
    clock: Clock,
    sign: Sign | None = None,
    connect: Connect = connect,
    trace: Trace | None = None,
    allowed: AllowedArns | None = None,
) -> AsyncIterator["AwsCaller"]:
    """Open a caller of targets of AWS, with an optional trace. Requests that hang at its end are left behind.

    `allowed`: what tenants' targets may name; without it, everything that IAM allows.
    """
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="aws")
    try:
        yield AwsCaller(clock, threads, connect, sign, trace, allowed)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class AwsCaller:
    """Calls targets of AWS, any number at once, in one event loop; the fields are as in `aws_caller`."""

    clock: Clock
    threads: ThreadPoolExecutor
    connect: Connect
    sign: Sign | None
    trace: Trace | None
    allowed: AllowedArns | None

    async def prepare(self, call: Call) -> None:
        """Make the client of a call before its instant, and read the secret of its token: the first takes a while."""
        target = call.work.target
        if isinstance(target, HttpTarget):
            return
        with suppress(Exception):  # the call meets the same error, and reports it
            request = await self._request(call, target)
            await self._in_thread(self.connect, request.service, request.region, _wait_for(call.timeout_seconds))

    async def call(self, call: Call) -> Answer:
        """Send one request and return its result, at the latest when the call's timeout is over."""
        target, sent = call.work.target, _Sent()
        if isinstance(target, HttpTarget):
            return unsent(self.clock.now(), "This target is no resource of AWS.")
        if self.allowed is not None and self.allowed.closed(target, call.run.job.tenant):
            return unsent(self.clock.now(), _UNLISTED)
        if (sentence := too_large(target, call.work.payload)) is not None:
            return unsent(self.clock.now(), f"The payload cannot be sent. {sentence}")
        try:
            async with asyncio.timeout(call.timeout_seconds):
                request = await self._request(call, target)
                if self.trace is not None:
                    self.trace.request = shown(request)
                reply = await self._in_thread(self._ask, call, request, sent)
        except TimeoutError:
            sent.is_over = True
            error = f"AWS did not answer within {call.timeout_seconds:g} s ({target.type})."
            return unanswered(call, sent.at, self.clock.now(), error, timed_out=True)
        except TemplateError as unsendable:
            return unsent(self.clock.now(), str(unsendable))
        except _UnreachedError as unreached:
            return unanswered(call, sent.at, self.clock.now(), str(unreached))
        except Exception as error:  # noqa: BLE001 -- a payload, or a secret, leads to an answer, never to a crash
            return unanswered(call, sent.at, self.clock.now(), f"The call failed ({type(error).__name__}).")
        return answered(call, sent.at or self.clock.now(), self.clock.now(), reply)

    async def _request(self, call: Call, target: AwsTarget) -> AwsRequest:
        """Return the request to AWS. A trial, which has a trace, has no run to report on."""
        token, may_report = None, (call.takes_report or is_followed(target)) and self.trace is None
        if may_report and self.sign is not None:  # the first of a process reads the secret
            token = await self._in_thread(self.sign, call.run, call.attempt)
        return request_of(target, call, facts_of(call, token))

    async def _in_thread(self, work: Callable[[*_Given], _T], *given: *_Given) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self.threads, work, *given)

    def _ask(self, call: Call, request: AwsRequest, sent: "_Sent") -> AwsReply:
        """Send a request, in a thread. Raises _UnreachedError if there is no answer."""
        try:
            client = self.connect(request.service, request.region, _wait_for(call.timeout_seconds))
        except Exception as unmade:  # noqa: BLE001 -- a wrong region, no credentials: an answer, never a crash
            kind = type(unmade).__name__
            raise _UnreachedError(f"AWS cannot be called ({request.service} in {request.region}: {kind}).") from None
        from botocore import exceptions  # noqa: PLC0415 - loaded with the client

        sent.at = self.clock.now()
        if sent.is_over:  # read after `at` is set, because the call sets `is_over` before it reads `at`
            raise _UnreachedError
        try:
            answer: dict[str, Any] = getattr(client, request.operation)(**request.arguments)
            if "Payload" in answer:
                answer["Payload"] = answer["Payload"].read(BODY_BYTES)
        except exceptions.ClientError as error:
            return refused(error.response)
        except exceptions.ParamValidationError as bad:
            return AwsReply(400, "", "ParamValidationError", str(bad))
        except (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError):
            sent.at = None
            raise _UnreachedError(f"No connection to AWS was made ({request.service} in {request.region}).") from None
        except (exceptions.BotoCoreError, OSError) as broken:
            kind = type(broken).__name__
            raise _UnreachedError(f"AWS did not answer ({request.service} in {request.region}: {kind}).") from None
        return reply_of(call.work.target.type, answer)


class _Sent:
    """When a request left (ms), set by its thread; and whether its call is over, so that none may leave."""

    at: int | None = None
    is_over = False


class _UnreachedError(Exception):
    """There was no answer; the message is a sentence."""


def _wait_for(seconds: float) -> int:
    return next((wait for wait in _WAITS if seconds < wait), _WAITS[-1])
