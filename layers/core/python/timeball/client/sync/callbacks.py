# Generated from aio/callbacks.py by `python -m docs.client`: change that instead.
"""Calls that a webhook has received, and its reports about them, by the attempt's token and without an API key."""

import os
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from timeball.client.calls import path_of
from timeball.client.clocks import Clock, MachineClock
from timeball.client.connection import Connection
from timeball.client.models import HeartbeatAnswer, RunAnswer
from timeball.client.profiles import URL_VARIABLE
from timeball.client.sync.sender import Sender
from timeball.client.values.encoding import UNSET, Given, Unset
from timeball.client.webhooks import TOLERANCE_SECONDS, Delivery, Headers, read_delivery

if TYPE_CHECKING:
    import httpx


class WebhookCall:
    """A call of Timeball, and the way to report about it."""

    def __init__(
        self,
        delivery: Delivery,
        url: str | None = None,
        *,
        transport: "httpx.BaseTransport | None" = None,
        clock: Clock | None = None,
    ) -> None:
        self.delivery = delivery
        """The call with all of its facts."""
        self.run_id, self.job_id, self.attempt = delivery.run_id, delivery.job_id, delivery.attempt
        self.fire_time = delivery.fire_time
        """The instant that the run stands for."""
        self.verified = delivery.verified
        """Whether a signature was verified."""
        self._url, self._transport, self._clock = url, transport, clock
        self._opened: Sender | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.run_id!r}, attempt={self.attempt}, verified={self.verified})"

    @property
    def payload(self) -> Any:  # noqa: ANN401 - whatever JSON the job has
        """The parsed body; None if there is none."""
        return self.delivery.payload

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of the run."""
        return self.delivery.idempotency_key

    def complete(self, result: Given = UNSET) -> RunAnswer:
        """Report that the attempt has succeeded; `result` is kept as the run's result."""
        return RunAnswer(self._report("complete", {"result": result}))

    def fail(self, error: str, *, retriable: bool | None = None) -> RunAnswer:
        """Report that the attempt has failed; the job's policy decides about a retry unless `retriable` is false."""
        also = {} if retriable is None else {"retriable": retriable}
        return RunAnswer(self._report("fail", {"error": error, **also}))

    def heartbeat(self) -> HeartbeatAnswer:
        """Report that the attempt is still at work; `cancel_requested` of the answer asks it to stop."""
        return HeartbeatAnswer(self._report("heartbeat", {}))

    def _report(self, word: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        path = path_of("runs", self.run_id, word)
        return self._sender().json("POST", path, {"attempt": self.attempt, **body})

    def _sender(self) -> Sender:
        if self._opened is None:
            if self.delivery.token is None:
                raise ValueError("This call takes no report: give its job completion='callback'.")
            url = self._url or os.environ.get(URL_VARIABLE)
            if not url:
                raise ValueError(f"Set {URL_VARIABLE}, or give the url of the API: a report goes there.")
            connection = Connection(url.rstrip("/"), self.delivery.token)
            self._opened = Sender(connection, self._clock or MachineClock(), self._transport)
        return self._opened

    def close(self) -> None:
        """Close the connections of the reports."""
        if self._opened is not None:
            self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def verify(
    *,
    headers: Headers,
    body: bytes | str,
    secret: str | Sequence[str] | Unset = UNSET,
    url: str | None = None,
    now: float | None = None,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    transport: "httpx.BaseTransport | None" = None,
    clock: Clock | None = None,
) -> WebhookCall:
    """Return a call whose signature is of the secret, or of one of several; raise NotVerified otherwise.

    If `secret` is left out, the call says that it was not verified; an empty one is a ValueError. `url` is the API for
    reports, by default `TIMEBALL_URL`; `now` is in seconds since 1970.
    """
    delivery = read_delivery(headers, body, secret, now=now, tolerance_seconds=tolerance_seconds)
    return WebhookCall(delivery, url, transport=transport, clock=clock)
