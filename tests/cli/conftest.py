"""A shell over an empty world, and one over a small shop that was at work for 14 minutes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Shell
from tests.console.world import World

SHOP = "https://shop.example"
JOBS = {
    "hello": {"handler": f"{SHOP}/hello", "everySeconds": 60, "tags": {"team": "web"}, "name": "Hello"},
    "broken": {"handler": f"{SHOP}/fail/503", "everySeconds": 300, "maxRetries": 0, "tags": {"team": "data"}},
    "extract": {"handler": f"{SHOP}/extract", "everySeconds": 600, "tags": {"team": "data"}},
    "check": {"handler": f"{SHOP}/fail/422", "dependsOn": ["extract"], "maxRetries": 0, "tags": {"team": "data"}},
    "load": {"handler": f"{SHOP}/load", "dependsOn": ["check"], "tags": {"team": "data"}},
    "accounts": {
        "handler": f"{SHOP}/accept",
        "completion": "callback",
        "heartbeatSeconds": 600,
        "timeoutSeconds": 3600,
        "scheduleAt": "2026-11-23T09:31:00Z",
    },
}


def shop() -> World:
    """Return a world with these jobs, some 14 minutes later."""
    world = World()
    for name, fields in JOBS.items():
        world.send("PUT", f"/v1/jobs/{name}", fields)
    world.send("PUT", "/v1/tasks/mail", {"handler": f"{SHOP}/mail"})
    world.send("PUT", "/v1/calendars/holidays", {"timezone": "Europe/Berlin", "dates": ["2026-12-25"]})
    world.send("PUT", "/v1/limits/warehouse", {"limit": 2})
    world.advance(870)
    return world


@pytest.fixture(scope="module")
def looking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell over the shop for commands that change nothing."""
    yield from _shell(shop(), tmp_path_factory.mktemp("home"))


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Shell]:
    """A shell over a shop of the test's own."""
    yield from _shell(shop(), tmp_path)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell over a world with nothing."""
    yield from _shell(World(), tmp_path)


def _shell(world: World, home: Path) -> Iterator[Shell]:
    yield Shell(world, {"HOME": str(home)})
    world.close()
