"""Resolving names: only our own resolver does it, ahead of the instant, shared, and a hanging name delays no other."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.webhooks.targets import (
    CLOSED,
    LOCAL,
    NOW,
    OK,
    PATIENT,
    a_call,
    answering,
    call_url,
    listening,
    no_answer,
    success,
)
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.sharing.capacity import CAPACITY
from timeball.ports.target import Answer, Call
from timeball.targets.http.addresses import parse_rules
from timeball.targets.http.caller import http_caller
from timeball.targets.http.names import Lookup
from timeball.testing.virtual_clock import VirtualClock


def test_names_that_never_resolve_end_with_the_timeout_and_delay_no_other_call() -> None:
    release = threading.Event()

    def hang(_: str, __: int) -> list[str]:
        release.wait()
        return ["127.0.0.1"]

    try:
        answer = call_url("http://hooks.example/", lookup=hang, timeout=0.2)
    finally:
        release.set()
    error = "No connection to hooks.example could be made within 0.2 s."
    assert answer == no_answer(error, None, timed_out=True)


def test_names_that_never_resolve_keep_no_other_call_of_their_executor_from_its_target() -> None:
    release = threading.Event()

    def look_up(host: str, _: int) -> list[str]:
        if host != "hooks.example":
            release.wait()
        return ["127.0.0.1"]

    async def main() -> Answer:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL, look_up) as caller:
            hanging = [asyncio.create_task(caller.call(a_call(f"http://{n}.example/"))) for n in range(CAPACITY - 1)]
            await asyncio.sleep(0)
            try:
                return await caller.call(a_call(f"http://hooks.example:{target.port}/"))
            finally:
                release.set()
                await asyncio.gather(*hanging)

    assert asyncio.run(main()).error is None


def of_tenant(tenant: str, url: str, timeout: float = PATIENT) -> Call:
    return replace(a_call(url, timeout=timeout), run=RunId(JobKey(tenant, "nightly"), NOW, Origin.SCHEDULE))


class Tarpit:
    """Name servers that answer for one host at once, and for all others when released; records the waiting look-ups."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked: list[str] = []

    def look_up(self, host: str, _: int) -> list[str]:
        self.asked.append(host)
        if host != "hooks.example":
            self.released.wait()
        return ["127.0.0.1"]


def beside_a_tarpit(host: str, rounds: int) -> tuple[Tarpit, Answer]:
    """Call 40 names of one tenant a round, whose calls time out before their look-ups end; then a neighbour's name."""
    tarpit = Tarpit()

    async def main() -> Answer:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL, tarpit.look_up) as caller:
            try:
                for number in range(rounds):
                    names = [f"{number}-{run}.slow.example" for run in range(40)]
                    hanging = [of_tenant("mallory", f"http://{name}/", timeout=0) for name in [*names, host]]
                    answers = await asyncio.gather(*map(caller.call, hanging))
                    assert all(answer.timed_out for answer in answers)
                return await caller.call(of_tenant("acme", f"http://hooks.example:{target.port}/"))
            finally:
                tarpit.released.set()

    return tarpit, asyncio.run(main())


@pytest.mark.parametrize("host", ["other.example", "hooks.example"])
def test_slow_name_servers_of_one_tenants_hosts_make_no_call_of_another_tenant_fail(host: str) -> None:
    # 40 runs a second, each given up after a second, and look-ups of ten seconds; the test plays a tenth of them. The
    # tenant may also ask for the very name that its neighbour calls, after all of its own.
    tarpit, answer = beside_a_tarpit(host, rounds=10)
    assert answer == success("ok")
    assert tarpit.asked.count("hooks.example") >= 1


def test_look_ups_that_wait_for_a_thread_are_made_when_one_is_free() -> None:
    tarpit = Tarpit()

    async def main() -> list[Answer]:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL, tarpit.look_up) as caller:
            urls = [f"http://{number}.example:{target.port}/" for number in range(2 * CAPACITY)]
            calls = [asyncio.create_task(caller.call(of_tenant("mallory", url))) for url in urls]
            await asyncio.sleep(0)
            tarpit.released.set()
            return await asyncio.gather(*calls)

    assert asyncio.run(main()) == [success("ok")] * 2 * CAPACITY
    assert len(tarpit.asked) == 2 * CAPACITY


def test_simultaneous_calls_of_one_host_share_a_look_up_and_the_end_of_one_call_cancels_none() -> None:
    release = threading.Event()
    lookups: list[str] = []

    def look_up(host: str, _: int) -> list[str]:
        lookups.append(host)
        release.wait()
        return ["127.0.0.1"]

    async def main() -> list[Answer]:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL, look_up) as caller:
            url = f"http://hooks.example:{target.port}/"
            patient = [asyncio.create_task(caller.call(a_call(url))) for _ in range(3)]
            try:
                hasty = await caller.call(a_call(url, timeout=0.1))
            finally:
                release.set()
            return [hasty, *await asyncio.gather(*patient)]

    hasty, *patient = asyncio.run(main())
    assert hasty == no_answer("No connection to hooks.example could be made within 0.1 s.", None, timed_out=True)
    assert patient == [success("ok")] * 3
    assert lookups == ["hooks.example"]


def test_an_unknown_name_fails_the_call() -> None:
    def nobody(_: str, __: int) -> list[str]:
        raise OSError

    answer = call_url("http://hooks.example/?key=s3cret", lookup=nobody)
    assert answer == no_answer(CLOSED, None)


def prepared(lookup: Lookup, instant: Callable[[], None] = lambda: None) -> Answer:
    """Prepare a call of a name, let its instant come, and call."""

    async def main() -> Answer:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL, lookup) as caller:
            call = a_call(f"http://hooks.example:{target.port}/")
            await caller.prepare(call)
            assert target.connections == 0
            instant()
            return await caller.call(call)

    return asyncio.run(main())


def test_a_name_is_looked_up_ahead_of_the_instant_and_not_again_at_it() -> None:
    lookups: list[str] = []

    def look_up(host: str, _: int) -> list[str]:
        lookups.append(host)
        return ["127.0.0.1"]

    assert prepared(look_up) == success("ok")
    assert lookups == ["hooks.example"]


def test_a_look_up_that_hangs_delays_no_run_past_its_instant() -> None:
    instant = threading.Event()

    def look_up(_: str, __: int) -> list[str]:
        instant.wait()
        return ["127.0.0.1"]

    assert prepared(look_up, instant.set) == success("ok")


def test_a_name_that_could_not_be_looked_up_ahead_is_looked_up_at_the_instant() -> None:
    lookups: list[str] = []

    def look_up(host: str, _: int) -> list[str]:
        lookups.append(host)
        if len(lookups) == 1:
            raise OSError
        return ["127.0.0.1"]

    assert prepared(look_up) == success("ok")
    assert len(lookups) == 2


def test_an_address_that_was_found_ahead_is_checked_like_any_other() -> None:
    answer = prepared(lambda *_: ["10.0.0.7"])
    assert answer.called_at is None
    assert answer.error == CLOSED


@pytest.mark.parametrize("host", ["HOOKS.Example", "hooks.example.", "hooks_x.example", "localhost"])
def test_only_our_own_resolver_resolves_a_name_however_it_is_written(host: str) -> None:
    """Only the test knows most of these names, and its answer for `localhost` differs from the machine's."""
    lookups: list[str] = []

    def look_up(name: str, _: int) -> list[str]:
        lookups.append(name)
        return ["127.0.0.3"]

    async def main() -> tuple[int | None, str]:
        async with (
            listening(answering(OK), host="127.0.0.3") as target,
            http_caller(VirtualClock(NOW), LOCAL, look_up) as caller,
        ):
            answer = await caller.call(a_call(f"http://{host}:{target.port}/"))
            return answer.status, target.requests[0].headers["host"].partition(":")[0]

    status, told = asyncio.run(main())
    assert status == 200
    assert lookups == [told]


def test_the_address_that_accepts_the_connection_is_called() -> None:
    async def main() -> tuple[int | None, int]:
        async with (
            listening(answering(OK)) as target,
            http_caller(VirtualClock(NOW), parse_rules("127.0.0.0/8,::1/128"), several) as caller,
        ):
            answer = await caller.call(a_call(f"http://hooks.example:{target.port}/"))
            return answer.status, target.connections

    def several(_: str, __: int) -> list[str]:
        return ["::1", "127.0.0.9", "127.0.0.1"]

    assert asyncio.run(main()) == (200, 1)


@pytest.mark.parametrize("is_prepared", [True, False])
def test_the_answer_is_the_same_for_an_internal_name_and_an_unknown_one(*, is_prepared: bool) -> None:
    # A tenant could ask for names of the network one by one. The number of look-ups takes time, so it could be seen,
    # too.
    def outcome(found: list[str] | None) -> tuple[Answer, int]:
        lookups: list[str] = []

        def look_up(host: str, _: int) -> list[str]:
            lookups.append(host)
            if found is None:
                raise OSError
            return found

        answer = prepared(look_up) if is_prepared else call_url("http://hooks.example/", lookup=look_up)
        return answer, len(lookups)

    unknown = outcome(None)
    assert unknown == (no_answer(CLOSED, None), 2 if is_prepared else 1)
    assert [outcome(found) for found in (["10.0.0.7"], ["127.0.0.1", "fd00::1"], ["169.254.169.254"])] == [unknown] * 3
