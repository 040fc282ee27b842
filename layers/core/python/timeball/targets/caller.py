"""Call targets of every type: each call goes to the adapter of its target's type."""

from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import Answer, Call, Caller


class TargetCaller:
    """Calls webhooks with one adapter, and resources of AWS with another."""

    def __init__(self, http: Caller, aws: Caller) -> None:
        self._http = http
        self._aws = aws

    async def prepare(self, call: Call) -> None:
        """Fetch in advance what the call needs."""
        await self._adapter(call).prepare(call)

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        return await self._adapter(call).call(call)

    def _adapter(self, call: Call) -> Caller:
        return self._http if isinstance(call.work.target, HttpTarget) else self._aws
