"""Every public method of the client, sync and async, against the API in memory."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.client.cases import CASES, Case, run_of
from tests.client.in_memory import URL, AsyncWorldClock, Transport, WorldClock, async_client, client
from tests.console.world import World
from timeball.client import AsyncPages, AsyncTimeball, Pages, Timeball

BY_HAND = {"close", "url"}
"""The fixtures of the tests use these."""


class Asking:
    """A client as a case sees it, which may need two calls, or the run of a job that the world has made."""

    def __init__(self, timeball: Timeball | AsyncTimeball, world: World) -> None:
        self.timeball, self._world = timeball, world

    def __getattr__(self, name: str) -> Any:
        return getattr(self.timeball, name)

    @property
    def known(self) -> dict[str, str]:
        run = self._world.send("GET", "/v1/jobs/once/runs")["items"][0]
        return {"run": run_of(self._world), "fire": run["fireTime"]}

    def then(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Any:
        if isinstance(self.timeball, Timeball):
            return second(first(self.timeball))

        async def both() -> Any:
            return await second(await first(self.timeball))

        return both()

    def as_session(self) -> Any:
        key = self._world.send("POST", "/v1/sessions", {})["key"]
        transport = Transport(self._world)
        if isinstance(self.timeball, Timeball):
            return Timeball(URL, key, transport=transport, clock=WorldClock(self._world))
        return AsyncTimeball(URL, key, transport=transport, clock=AsyncWorldClock(self._world))


def prepare(case: Case, world: World) -> None:
    for method, path, body in case.before:
        world.send(method, path, body)
    world.advance(case.seconds)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_method_does_what_it_says(case: Case, world: World) -> None:
    prepare(case, world)
    with client(world) as timeball:
        found = case.call(Asking(timeball, world))
        found = found.first() if isinstance(found, Pages) else list(found) if isinstance(found, Iterator) else found
    assert case.holds(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_method_does_the_same_with_an_event_loop(case: Case, world: World) -> None:
    prepare(case, world)

    async def ask() -> Any:
        async with async_client(world) as timeball:
            found = case.call(Asking(timeball, world))
            if isinstance(found, AsyncPages):
                return await found.first()
            if isinstance(found, AsyncIterator):
                return [one async for one in found]
            return await found if inspect.isawaitable(found) else found

    assert case.holds(asyncio.run(ask()))


@pytest.mark.parametrize("kind", [Timeball, AsyncTimeball])
def test_every_public_method_has_a_case(kind: type[Timeball] | type[AsyncTimeball]) -> None:
    opened = kind(URL, "tb_key")
    methods = {name for name in vars(kind) if not name.startswith("_")} - BY_HAND
    for name, resource in vars(opened).items():
        if not name.startswith("_"):
            methods |= {f"{name}.{method}" for method in vars(type(resource)) if not method.startswith("_")}
    assert methods == {case.name for case in CASES}
