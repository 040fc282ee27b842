"""Every way to reach an address that is not public, tried by a real call: none succeeds."""

import asyncio

import pytest

from tests.webhooks.targets import CLOSED, LOCAL, NOW, OK, a_call, answering, call_url, listening, no_answer, success
from timeball.ports.target import Answer
from timeball.targets.http.addresses import AddressRules, parse_rules
from timeball.targets.http.caller import http_caller
from timeball.testing.virtual_clock import VirtualClock

PUBLIC_ONLY = AddressRules()

LOOPBACK = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "0x7f.1",
    "0x7f000001",
    "0x7F.0x0.0x0.0x1",
    "0",
    "0.0.0.0",  # noqa: S104 -- a target, nothing is bound
    "127.0.0.1.",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1%25lo]",
    "[::1%25lo]",
    "localhost",
    "LOCALHOST.",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "１２７.0.0.1",  # noqa: RUF001 -- full-width digits
    "user:s3cret@127.0.0.1",
    "hooks.example@127.0.0.1",
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_no_spelling_of_loopback_reaches_it(host: str) -> None:
    async def main() -> tuple[Answer, int]:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), PUBLIC_ONLY) as caller:
            return await caller.call(a_call(f"http://{host}:{target.port}/")), target.connections

    answer, connections = asyncio.run(main())
    assert connections == 0
    assert (answer.called_at, answer.status, answer.timed_out) == (None, None, False)
    assert answer.error is not None
    # Some forms are no URL, some are an address, and some are a name on one machine and nothing on another.
    assert any(words in answer.error for words in ("may not call", "malformed", "could not be resolved"))
    assert "s3cret" not in answer.error


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "2852039166",
        "169.254.170.2",
        "[fe80::1]",
    ],
)
def test_metadata_stays_out_of_reach_where_every_network_is_allowed(host: str) -> None:
    answer = call_url(f"http://{host}/latest/meta-data/", parse_rules("0.0.0.0/0,::/0"))
    assert (answer.called_at, answer.status) == (None, None)
    assert answer.error is not None
    assert "may not call" in answer.error or "malformed" in answer.error


def test_the_runtime_api_stays_out_of_reach_where_loopback_is_allowed() -> None:
    async def main() -> tuple[Answer, int]:
        async with listening(answering(OK)) as runtime:
            rules = parse_rules("127.0.0.0/8", runtime_api=f"127.0.0.1:{runtime.port}")
            async with http_caller(VirtualClock(NOW), rules) as caller:
                return await caller.call(a_call(runtime.url)), runtime.connections

    answer, connections = asyncio.run(main())
    assert (answer.called_at, answer.status, connections) == (None, None, 0)


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.7"],
        ["127.0.0.1", "10.0.0.7"],  # 127.0.0.1 is allowed here and would answer
        ["10.0.0.7", "127.0.0.1"],
        ["127.0.0.1", "fe80::1"],
        ["127.0.0.1", "127.0.0.1%lo"],
    ],
)
def test_a_name_with_a_single_forbidden_address_is_not_called(addresses: list[str]) -> None:
    async def main() -> tuple[Answer, int]:
        async with (
            listening(answering(OK)) as target,
            http_caller(VirtualClock(NOW), LOCAL, lambda *_: addresses) as caller,
        ):
            return await caller.call(a_call(f"http://hooks.example:{target.port}/")), target.connections

    answer, connections = asyncio.run(main())
    assert connections == 0
    assert answer == no_answer(CLOSED, None)


def test_a_name_is_resolved_once_a_call_and_the_checked_address_is_the_one_that_is_called() -> None:
    """127.0.0.2 stands for a public address, 127.0.0.1 for a private one; the name moves between them."""
    lookups: list[str] = []

    def rebinding(host: str, _: int) -> list[str]:
        lookups.append(host)
        return ["127.0.0.2"] if len(lookups) == 1 else ["127.0.0.1"]

    async def main() -> tuple[list[Answer], int, int]:
        async with (
            listening(answering(OK), host="127.0.0.2") as public,
            listening(answering(OK), port=public.port) as private,
            http_caller(VirtualClock(NOW), parse_rules("127.0.0.2/32"), rebinding) as caller,
        ):
            url = f"http://rebind.example:{public.port}/"
            answers = [await caller.call(a_call(url)) for _ in range(2)]
            return answers, public.connections, private.connections

    answers, public_connections, private_connections = asyncio.run(main())
    assert [answer.status for answer in answers] == [200, None]
    assert lookups == ["rebind.example"] * 2
    assert (public_connections, private_connections) == (1, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])
def test_an_open_address_is_called_as_the_url_writes_it(host: str) -> None:
    async def main() -> tuple[Answer, str]:
        where = "::1" if host == "[::1]" else "127.0.0.1"
        rules = parse_rules("127.0.0.0/8,::1/128")
        async with listening(answering(OK), host=where) as target, http_caller(VirtualClock(NOW), rules) as caller:
            answer = await caller.call(a_call(f"http://{host}:{target.port}/"))
            return answer, target.requests[0].headers["host"].rpartition(":")[0]

    assert asyncio.run(main()) == (success("ok"), host)


def test_the_target_sees_its_name_although_an_address_is_called() -> None:
    async def main() -> str:
        async with (
            listening(answering(OK)) as target,
            http_caller(VirtualClock(NOW), LOCAL, lambda *_: ["127.0.0.1"]) as caller,
        ):
            await caller.call(a_call(f"http://hooks.example:{target.port}/"))
        return target.requests[0].headers["host"].partition(":")[0]

    assert asyncio.run(main()) == "hooks.example"
