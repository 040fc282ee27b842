"""The blocks of docs/reference/client.md run as they stand there, in their order, against the API in memory."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.in_memory import URL, Transport, WorldClock, async_client, client
from tests.client.test_webhooks import CALLBACK, NEW, called, sent
from tests.console.world import World
from tests.docs.readme import ROOT, read
from timeball.client import NotFound, errors, verify

PAGE = read(ROOT / "docs/reference/client.md")
BLOCKS = re.findall(r"<!-- client -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("TIMEBALL_URL", "https://timeball.example")
    monkeypatch.setenv("TIMEBALL_KEY", "tb_of_the_page")
    world = World()
    yield world
    world.close()


def run(world: World) -> dict[str, Any]:
    """Run the blocks; return the names that they have bound."""
    bound: dict[str, Any] = {"__name__": "page"}
    first, *others = BLOCKS
    made = "tb = Timeball()\n"
    assert made in first
    before, after = first.split(made)
    exec(f"{before}{made}", bound)  # noqa: S102 - the page is ours
    assert bound["tb"].url == "https://timeball.example"
    with client(world) as bound["tb"]:
        exec(after, bound)  # noqa: S102
        for block in others:
            exec(block, bound)  # noqa: S102
    return bound


def test_every_block_of_python_is_run() -> None:
    assert len(re.findall(r"^```python$", PAGE, re.MULTILINE)) == len(BLOCKS) == 6


def test_the_blocks_run_and_print_what_the_page_means(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    bound = run(world)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "succeeded 200"
    assert printed[-2] == "1 of 1"
    assert printed[-1].startswith("maxRetries ")
    assert bound["latest"] is None  # nothing has fired yet
    job = world.send("GET", "/v1/jobs/nightly-report")
    assert (job["overlapPolicy"], job["target"]["secretId"]) == ("skip", "timeball/acme/report")
    assert json.loads(json.dumps(job["payload"])) == {"report": "sales"}


def test_the_endpoint_of_the_page_reports_and_refuses(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    bound = run(world)

    def in_memory(**asked: Any) -> Any:
        now = world.clock.now() / 1000
        return verify(**asked, now=now, url=URL, transport=Transport(world), clock=WorldClock(world))

    bound["verify"] = in_memory
    headers, body = sent(world, called(world), NEW)
    assert bound["endpoint"](headers, body, NEW) == 202
    assert bound["endpoint"](headers, body + b" ", NEW) == 401
    assert world.send("GET", "/v1/jobs/report/runs")["items"][0]["status"] == "succeeded"
    assert str(CALLBACK["payload"]) in capsys.readouterr().out


def test_the_coroutine_of_the_page_skips_a_night(world: World) -> None:
    bound = run(world)
    world.send("POST", "/v1/jobs/nightly-report/resume")

    async def skip() -> Any:
        async with async_client(world) as tb:
            return await bound["skip_a_night"](tb)

    assert asyncio.run(skip()) == "succeeded"
    rows = world.send("GET", "/v1/jobs/nightly-report/runs")["items"]
    assert "skipped_manually" in [row["reason"] for row in rows]


def test_the_table_of_errors_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d, x]+)", PAGE, re.MULTILINE)
    named = {int(status): name for name, statuses in rows for status in re.findall(r"\d{3}", statuses)}
    assert named == {status: kind.__name__ for status, kind in errors._BY_STATUS.items()}
    assert type(errors.error_of(404, {})) is NotFound
