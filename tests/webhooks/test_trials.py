"""A trial over real sockets, made by the caller of runs: what it shows, what it hides, and what it cannot reach."""

import asyncio
from pathlib import Path

import pytest

from tests.webhooks.targets import LOCAL, NOW, PATIENT, answering, holding, listening, self_signed, trusting
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import Trial, Tried
from timeball.targets.calls import Trace, make_trial
from timeball.targets.http.addresses import CLOSED, PUBLIC_ONLY, AddressRules
from timeball.targets.http.caller import http_caller
from timeball.targets.http.signing_keys import KeyRing
from timeball.testing.memory_services import MemorySecrets
from timeball.testing.virtual_clock import VirtualClock

NAME, KEY = "timeball/acme/orders", "whsec_" + "MDEy" * 8
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 4\r\n\r\nbusy"


def try_it(
    target: HttpTarget, payload: str | None = None, rules: AddressRules = LOCAL, folder: Path | None = None
) -> tuple[Tried, int]:
    """Try a target on the loopback, over TLS if there is a folder; return also its number of connections."""
    secrets, clock = MemorySecrets(), VirtualClock(NOW)
    secrets.put(NAME, KEY)

    async def main() -> tuple[Tried, int]:
        trace, tls = Trace(), None if folder is None else self_signed(folder)
        trust = None if folder is None else trusting(folder)
        ring = KeyRing(secrets, "timeball/", clock)
        async with (
            listening(answering(BUSY), tls=tls) as listener,
            http_caller(clock, rules, trust=trust, ring=ring, trace=trace) as caller,
        ):
            url = listener.url.removesuffix("/hook") + target.url
            called = HttpTarget(url, target.method, target.headers, target.body, target.secret_id)
            tried = await make_trial(caller, trace, Trial("acme", Work(called, payload), int(PATIENT)), clock.now())
            return tried, listener.connections

    return asyncio.run(main())


@pytest.mark.parametrize("over", ["plain", "tls"])
def test_it_shows_the_request_the_answer_and_the_phases_of_its_time_without_header_values(
    over: str, tmp_path: Path
) -> None:
    target = HttpTarget("/{{payload.n}}", headers={"X-Key": "s3cret"}, body='["{{jobId}}"]', secret_id=NAME)
    tried, _ = try_it(target, '{"n": 7}', folder=tmp_path if over == "tls" else None)
    assert (tried.verdict, tried.may_retry, tried.status, tried.body) == ("failed", True, 503, "busy")
    assert tried.headers["Retry-After"] == "5"
    sent = tried.request
    assert (sent["method"], sent["url"].rpartition("/")[2], sent["body"]) == ("POST", "7", '["timeball-trial"]')
    assert sent["headers"]["X-Key"] is None
    assert sent["headers"]["webhook-signature"].startswith("v1,")
    assert tried.signatures == 1
    assert "s3cret" not in str(tried)
    assert KEY not in str(tried)
    parts = ["name", "connect", *(["tls"] if over == "tls" else []), "wait", "body", "total"]
    assert list(tried.took_ms) == parts
    assert all(took >= 0 for took in tried.took_ms.values())


def test_it_reaches_no_address_that_a_run_may_not_call() -> None:
    tried, connections = try_it(HttpTarget("/"), rules=PUBLIC_ONLY)
    assert (tried.verdict, tried.status, connections) == ("failed", None, 0)
    assert tried.error == f"127.0.0.1 leads to an address that webhooks may not call: {CLOSED}."
    assert tried.request["method"] == "POST"  # the request was ready, and did not leave


def test_a_template_that_cannot_be_filled_shows_no_request() -> None:
    tried, connections = try_it(HttpTarget("/{{payload.n}}"), "{}")
    assert (tried.verdict, tried.may_retry, dict(tried.request), connections) == ("failed", False, {}, 0)
    assert list(tried.took_ms) == ["total"]


def test_it_takes_no_longer_than_its_timeout() -> None:
    trace, clock = Trace(), VirtualClock(NOW)

    async def main() -> Tried:
        async with (
            listening(holding(b"", leaps=60)) as listener,
            http_caller(clock, LOCAL, trace=trace) as caller,
        ):
            trial = Trial("acme", Work(HttpTarget(listener.url)), 60)
            return await make_trial(caller, trace, trial, clock.now())

    tried = asyncio.run(main())
    assert tried.error == "127.0.0.1 did not answer in full within 60 s."
