"""The tools for language models, asked by a real MCP client: in this process, and over the standard streams."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from tests.cli.commands import Shell
from tests.client.in_memory import URL, AsyncWorldClock, Transport
from tests.console.server import ConsoleServer
from tests.console.world import World
from tests.docs.readme import ROOT, read
from timeball.client import AsyncTimeball
from timeball.mcp.fitting import MOST_BYTES, REDACTED
from timeball.mcp.server import build_server

READING = ["failures", "find_jobs", "get_job", "get_run", "now", "preview"]
PAGE = read(ROOT / "docs/how-to/language-models.md")
HOOK = "https://example.com/hook"


def opener(world: World) -> Callable[[str], AsyncTimeball]:
    return lambda key: AsyncTimeball(URL, key, transport=Transport(world), clock=AsyncWorldClock(world))


def with_tools(
    world: World, ask: Callable[[Client], Awaitable[Any]], *, role: str = "admin", allow_plan: bool = False
) -> Any:
    """Return what is asked of a server in this process."""

    async def work() -> Any:
        open_ = opener(world)
        async with Client(build_server(open_(world.keys[role]), open_, allow_plan=allow_plan)) as client:
            return await ask(client)

    return asyncio.run(work())


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    (content,) = answer.content
    assert isinstance(content, TextContent)
    assert len(content.text.encode()) <= MOST_BYTES
    return f"refused: {content.text}" if answer.is_error else content.text


def call(world: World, tool: str, *, role: str = "admin", allow_plan: bool = False, **arguments: Any) -> str:
    return str(with_tools(world, lambda client: text_of(client, tool, **arguments), role=role, allow_plan=allow_plan))


def jobs(world: World) -> None:
    nightly = {"cronExpression": "0 2 * * *", "tags": {"team": "web"}, "payload": {"card": "s3cret"}}
    world.send("PUT", "/v1/jobs/nightly", {"handler": HOOK, **nightly})
    world.send("PUT", "/v1/jobs/broken", {"handler": "https://example.com/fail/400", "maxRetries": 0})
    world.advance(10)


def test_without_a_word_of_a_person_every_tool_only_reads(world: World) -> None:
    listed = with_tools(world, lambda client: client.list_tools())
    assert sorted(tool.name for tool in listed.tools) == READING
    assert all(tool.annotations.read_only_hint for tool in listed.tools)
    assert all(tool.description for tool in listed.tools)


def test_a_person_may_allow_test_runs(world: World) -> None:
    listed = with_tools(world, lambda client: client.list_tools(), allow_plan=True)
    others = [tool for tool in listed.tools if tool.name not in READING]
    assert [tool.name for tool in others] == ["trigger_test"]
    assert not others[0].annotations.read_only_hint


def test_each_tool_answers_its_question(world: World) -> None:
    jobs(world)
    run = world.send("GET", "/v1/jobs/broken/runs")["items"][0]["runId"]
    assert json.loads(call(world, "now"))["health"]["lastTickAt"]
    assert [job["jobId"] for job in json.loads(call(world, "find_jobs", tag="team:web"))["items"]] == ["nightly"]
    assert json.loads(call(world, "get_job", job_id="nightly"))["payload"] == REDACTED
    assert "s3cret" in call(world, "get_job", job_id="nightly", show_payload=True)
    assert json.loads(call(world, "get_run", run_id=run))["attempts"][0]["httpStatus"] == 400
    fires = json.loads(call(world, "preview", cron="0 2 * * *", timezone="Europe/Berlin", count=2))["items"]
    assert [fire["localTime"] for fire in fires] == ["2026-11-24T02:00:00", "2026-11-25T02:00:00"]
    assert json.loads(call(world, "failures"))["items"][0]["jobId"] == "broken"


def test_pages_go_on(world: World) -> None:
    jobs(world)
    page = json.loads(call(world, "find_jobs", limit=1))
    rest = json.loads(call(world, "find_jobs", limit=1, cursor=page["nextCursor"]))
    assert {page["items"][0]["jobId"], rest["items"][0]["jobId"]} == {"nightly", "broken"}


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("get_job", {"job_id": "nobody"}, "no job"),
        ("get_job", {"job_id": ".."}, "is no id"),
        ("get_run", {"run_id": "nobody"}, "no run"),
        ("preview", {}, "exactly one of cron, every_seconds and at"),
        ("preview", {"cron": "0 2 * * *", "every_seconds": 5}, "exactly one of"),
        ("preview", {"cron": "0 0 2 * * *"}, "five fields"),
        ("preview", {"cron": "0 25 * * *"}, "cronExpression: "),
        ("preview", {"at": "2027-01-01T00:00:00"}, "has no time zone"),
        ("find_jobs", {"status": "asleep"}, "status"),
        ("find_jobs", {"limit": 51}, "limit"),
        ("trigger_test", {"job_id": "nightly"}, "trigger_test"),
    ],
)
def test_a_wrong_question_gets_a_sentence(world: World, tool: str, arguments: dict[str, Any], sentence: str) -> None:
    async def ask(client: Client) -> str:
        try:
            return await text_of(client, tool, **arguments)
        except Exception as error:  # noqa: BLE001 - a tool that does not exist is an error of the protocol
            return f"refused: {error}"

    answer = with_tools(world, ask)
    assert answer.startswith("refused: ")
    assert sentence in answer


def test_a_test_run_is_shown_with_its_end(world: World) -> None:
    jobs(world)
    ended = json.loads(call(world, "trigger_test", job_id="nightly", payload={"try": 1}, allow_plan=True))
    assert (ended["status"], ended["origin"], ended["result"]) == ("succeeded", "manual", REDACTED)
    assert world.target.calls[-1].work.payload == '{"try":1}'


@pytest.mark.parametrize(("path", "status"), [("fail/400", "failed"), ("slow/120", "running")])
def test_a_test_run_that_fails_or_lasts_is_shown_as_it_stands(world: World, path: str, status: str) -> None:
    world.send("PUT", "/v1/jobs/odd", {"handler": f"https://example.com/{path}", "everySeconds": 86400})
    world.send("PATCH", "/v1/jobs/odd", {"maxRetries": 0})
    assert json.loads(call(world, "trigger_test", job_id="odd", allow_plan=True))["status"] == status


def test_a_viewers_key_runs_nothing_even_if_a_person_allows_it(world: World) -> None:
    jobs(world)
    calls = len(world.target.calls)
    assert call(world, "trigger_test", job_id="nightly", role="viewer", allow_plan=True).startswith("refused: ")
    world.advance(10)
    assert len(world.target.calls) == calls


def test_questions_are_asked_as_a_viewer_and_the_session_ends_with_the_server(world: World) -> None:
    open_, keys = opener(world), list[str]()

    def with_key(key: str) -> AsyncTimeball:
        keys.append(key)
        return open_(key)

    async def work() -> None:
        async with Client(build_server(open_(world.keys["admin"]), with_key)) as client:
            await text_of(client, "now")
            await text_of(client, "failures")
            assert world.call("GET", "/v1/me", key=keys[0]).body["role"] == "viewer"

    asyncio.run(work())
    assert len(keys) == 1
    assert world.call("GET", "/v1/me", key=keys[0]).status == 401


def test_a_session_that_has_ended_is_followed_by_another(world: World) -> None:
    async def ask(client: Client) -> str:
        await text_of(client, "now")
        world.advance(2 * 3600)  # a session without requests ends after an hour
        return await text_of(client, "now")

    assert json.loads(with_tools(world, ask))["asOf"].startswith("2026-11-23T11:30")


def test_a_program_with_a_model_starts_the_command_of_the_page_and_asks_over_its_streams(tmp_path: Path) -> None:
    (block,) = re.findall(r"<!-- settings -->\n +```json\n(.*?)^ +```$", PAGE, re.DOTALL | re.MULTILINE)
    settings = json.loads(block)["mcpServers"]["timeball"]
    assert settings["command"] == "timeball"
    with ConsoleServer() as server:
        server.send("PUT", "/v1/jobs/nightly", {"handler": HOOK, "cronExpression": "0 2 * * *"})
        variables = {"TIMEBALL_URL": server.base, "TIMEBALL_KEY": server.keys["operator"], "HOME": str(tmp_path)}
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "timeball", *settings["args"]], env={**os.environ, **variables}
        )

        async def work() -> tuple[list[str], str]:
            async with Client(stdio_client(command)) as client:
                listed = await client.list_tools()
                return [tool.name for tool in listed.tools], await text_of(client, "get_job", job_id="nightly")

        tools, job = asyncio.run(work())
    assert sorted(tools) == READING
    assert json.loads(job)["scheduleText"] == "every day at 02:00, UTC"
    assert server.asked[-1].method == "DELETE"  # the session


def test_the_page_names_each_tool(world: World) -> None:
    listed = with_tools(world, lambda client: client.list_tools(), allow_plan=True)
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [tool.name for tool in listed.tools]


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"TIMEBALL_KEY": ""}, "TIMEBALL_URL is set and TIMEBALL_KEY is not"),
        ({"TIMEBALL_URL": "example.com"}, "is https:// and its host"),
    ],
)
def test_a_command_without_an_api_says_what_to_do(world: World, environment: dict[str, str], sentence: str) -> None:
    done = Shell(world, environment)("mcp")
    assert (done.status, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_a_command_without_the_package_says_which_one_it_needs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timeball.mcp.server", None)
    done = Shell(world)("mcp")
    assert (done.status, done.stdout) == (2, "")
    assert "pip install '.[mcp]'" in done.stderr


def test_an_unknown_option_is_a_mistake_of_use(world: World) -> None:
    assert Shell(world)("mcp", "--allow-everything").status == 2
