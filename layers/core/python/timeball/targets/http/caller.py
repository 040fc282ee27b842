"""Call webhooks: one connection, one request, one answer, whatever the target does.

Invariants: a call goes out only if the rules allow every address that its name leads to; a request is sent at most
once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pycurl

from timeball.domain.model.ids import RunId
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.templates.template import TemplateError
from timeball.ports.clock import Clock
from timeball.ports.target import Answer, Call
from timeball.targets.calls import Trace, unanswered, unsent
from timeball.targets.envelope import Sign
from timeball.targets.http.addresses import AddressRules, Url, parse_url
from timeball.targets.http.answers import late, record_answer, record_request, sentence_of, unsent_because
from timeball.targets.http.exchange import BODY_BYTES, Exchange
from timeball.targets.http.names import Asked, Lookup, Names, open_names
from timeball.targets.http.request import HttpRequest, request_of, webhook_of
from timeball.targets.http.signing_keys import KeyFetcher, KeyRing, Keys, NoKeyError
from timeball.targets.http.transfers import Transfers, handle_of, open_transfers
from timeball.targets.http.verdict import answered


@asynccontextmanager
async def http_caller(
    clock: Clock,
    rules: AddressRules,
    lookup: Lookup | None = None,
    trust: Path | None = None,
    sign: Sign | None = None,
    ring: KeyRing | None = None,
    trace: Trace | None = None,
) -> AsyncIterator["HttpCaller"]:
    """Open a caller of webhooks in the running loop. Name look-ups that hang at its end are left behind.

    `trust`: the file of certificates to verify by, if not the system's. `sign`: returns the token of an attempt whose
    target may report on it. `ring`: the keys that sign webhooks; without it, a webhook that asks for a signature is not
    sent. `trace`: records the one call that is made.
    """
    with open_names(lookup, rules) as names, open_transfers() as transfers:
        keys = None if ring is None else KeyFetcher(ring)
        yield HttpCaller(clock, names, transfers, trust, sign, keys, trace)


@dataclass
class HttpCaller:
    """Calls webhooks, any number at once, in one event loop; the fields are as in `http_caller`."""

    clock: Clock
    names: Names
    transfers: Transfers
    trust: Path | None
    sign: Sign | None
    keys: KeyFetcher | None
    trace: Trace | None
    asked: dict[tuple[RunId, int], Asked] = field(default_factory=dict)
    """The look-ups that were begun in advance, by run and attempt."""

    async def prepare(self, call: Call) -> None:
        """Read the secrets of a call before its instant, and start the look-up of its name without waiting for it."""
        with suppress(Exception):  # the call meets the same error, and reports it
            target = webhook_of(call.work)
            url = parse_url(target.url)
            self.asked[call.run, call.attempt] = self.names.ask(call.run.job.tenant, url.host, url.port)
            await self._secrets(call, target)

    async def call(self, call: Call) -> Answer:
        """Send one request and return its result, at the latest when the call's timeout is over."""
        exchange = Exchange(self.clock, self.names.rules)
        deadline = asyncio.timeout(call.timeout_seconds)
        host = "the target"
        try:
            async with deadline:
                target = webhook_of(call.work)
                host = parse_url(target.url).host
                sentence = await self._exchange(call, await self._request(call, target), exchange)
        except TemplateError as why:  # the same payload would lack it again
            return unsent(self.clock.now(), str(why))
        except NoKeyError as why:  # nothing has left, and the secret may be mended meanwhile
            return unsent(self.clock.now(), str(why), may_retry=True)
        except Exception as error:  # noqa: BLE001 -- a hostile target leads to an answer, never to a crash
            sentence = late(exchange, call.timeout_seconds) if deadline.expired() else unsent_because(error, host)
        now = self.clock.now()
        if sentence is not None:
            sentence = sentence.format(host=host)
            return unanswered(call, exchange.called_at, now, sentence, timed_out=deadline.expired())
        retry_after = exchange.header("retry-after")
        return answered(call, exchange.called_at, now, exchange.status, _text(exchange), retry_after)

    async def _request(self, call: Call, target: HttpTarget) -> HttpRequest:
        """Return the request."""
        token, keys = await self._secrets(call, target)
        request = request_of(call, self.clock.now(), token, keys)
        if self.trace is not None:
            record_request(self.trace, request, target.headers, len(keys), self.clock.now())
        return request

    async def _secrets(self, call: Call, target: HttpTarget) -> tuple[str | None, Keys]:
        """Return the token of a call, and the keys that sign it; each is read unless it is known."""
        token: str | None = None
        keys: Keys = ()
        if call.takes_report and self.sign is not None:  # in a thread: the first of a process reads the secret
            token = await asyncio.to_thread(self.sign, call.run, call.attempt)
        if target.secret_id is not None:
            if self.keys is None:
                raise NoKeyError("No secret can be read here.")
            keys = await self.keys.keys(call.run.job.tenant, target.secret_id)
        return token, keys

    async def _exchange(self, call: Call, request: HttpRequest, exchange: Exchange) -> str | None:
        """Send a request; return why there is no answer, or None if there is one."""
        exchange.has_body = request.method != "HEAD"
        addresses = await self._addresses(call, request.url)
        with closing(handle_of(exchange, request, addresses, call.timeout_seconds, self.trust)) as curl:
            try:
                code = await self.transfers.perform(curl)
            finally:
                exchange.close()
                if self.trace is not None:
                    record_answer(self.trace, exchange, curl, self.clock.now())
            return sentence_of(code, curl.getinfo(pycurl.OS_ERRNO), exchange)

    async def _addresses(self, call: Call, url: Url) -> Sequence[str]:
        """Return the addresses to call, as found in advance. A failed or forbidden result is looked up again.

        Both are, because the time of the answer would otherwise show which of the two it was.
        """
        asked = self.asked.pop((call.run, call.attempt), None)
        if asked is not None:
            with suppress(OSError, UnicodeError):
                return await self.names.addresses(asked, url.port)
        asked = self.names.ask(call.run.job.tenant, url.host, url.port)
        return await self.names.addresses(asked, url.port)


def _text(exchange: Exchange) -> str:
    """Return the kept part of an answer's body as text, which is no longer than that in UTF-8 either."""
    if exchange.header("content-encoding").lower() not in {"", "identity"}:
        return ""  # it was not asked for: noise to a reader, or a bomb to a program that unpacks it
    return exchange.body.decode("utf-8", "replace").encode()[:BODY_BYTES].decode("utf-8", "ignore")
