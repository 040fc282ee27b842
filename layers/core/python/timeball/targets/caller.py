"""Calls targets of every type: each call goes to the adapter of its target's type."""

from timeball.domain.model.target import HttpTarget
from timeball.ports.target import Answer, Call, Caller


class TargetCaller:
    """Calls webhooks by one adapter, and what is AWS's by another."""

    def __init__(self, http: Caller, aws: Caller) -> None:
        self._http = http
        self._aws = aws

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        is_webhook = isinstance(call.work.target, HttpTarget)
        return await (self._http if is_webhook else self._aws).call(call)
