"""TLS with targets that break its rules: the call ends before a request is sent."""

import asyncio
from pathlib import Path

from tests.webhooks.targets import (
    LOCAL,
    NOW,
    OK,
    Target,
    a_call,
    answering,
    listening,
    no_answer,
    self_signed,
    trusting,
)
from timeball.ports.target import Answer
from timeball.targets.http.caller import http_caller
from timeball.testing.virtual_clock import VirtualClock


def test_an_untrusted_certificate_ends_the_call_before_it_leaves(tmp_path: Path) -> None:
    async def main() -> tuple[Answer, Target]:
        async with (
            listening(answering(OK), tls=self_signed(tmp_path)) as target,
            http_caller(VirtualClock(NOW), LOCAL) as caller,
        ):
            return await caller.call(a_call(target.url)), target

    answer, target = asyncio.run(main())
    error = "The TLS certificate of 127.0.0.1 could not be verified."
    assert answer == no_answer(error, None)
    assert target.requests == []


def test_a_certificate_of_another_host_ends_the_call_before_it_leaves(tmp_path: Path) -> None:
    async def main() -> tuple[Answer, Target]:
        async with (
            listening(answering(OK), tls=self_signed(tmp_path)) as target,
            http_caller(VirtualClock(NOW), LOCAL, lambda *_: ["127.0.0.1"], trust=trusting(tmp_path)) as caller,
        ):
            return await caller.call(a_call(f"https://hooks.example:{target.port}/")), target

    answer, target = asyncio.run(main())
    assert answer == no_answer("The TLS certificate of hooks.example could not be verified.", None)
    assert target.requests == []


def test_a_target_that_never_completes_the_tls_handshake_is_given_up_at_the_timeout() -> None:
    async def keep_silent(_: Target, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await reader.read()

    async def main() -> Answer:
        async with (
            listening(keep_silent) as target,
            http_caller(VirtualClock(NOW), LOCAL) as caller,
        ):
            return await caller.call(a_call(f"https://127.0.0.1:{target.port}/", timeout=0.2))

    error = "No connection to 127.0.0.1 could be made within 0.2 s."
    assert asyncio.run(main()) == no_answer(error, None, timed_out=True)


def test_tls_with_a_target_that_speaks_none_ends_the_call_before_it_leaves() -> None:
    async def main() -> Answer:
        async def shout(_: Target, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Speak plainly\r\n\r\n")

        async with listening(shout) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            return await caller.call(a_call(f"https://127.0.0.1:{target.port}/"))

    error = "No TLS connection to 127.0.0.1 could be agreed on."
    assert asyncio.run(main()) == no_answer(error, None)
