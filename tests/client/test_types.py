"""Programs that use the client have types, start fast, and load nothing of the scheduler."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.in_memory import async_client
from tests.client.program import schedule, watch
from tests.console.world import World
from timeball import client
from timeball.client import Timeball

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")
PYRIGHT = ROOT / "tests/api/openapi/tools/node_modules/pyright/index.js"
YARDSTICKS = 100
"""Milliseconds of a fast processor: see tests/effort.py."""

IMPORT = f"""
import sys
from tests.effort import at_most
with at_most({YARDSTICKS}):
    import timeball.client
with at_most({YARDSTICKS}):
    from timeball.client import Cron, Http, Job, Timeball
names = {{"aws_lambda_powertools", "boto3", "botocore", "httpx", "pydantic", "rich", "typer", "timeball.domain"}}
assert not names & set(sys.modules), names & set(sys.modules)
Timeball("https://timeball.example", "tb_x")
assert not {{"rich", "click", "pygments", "httpx._main"}} & set(sys.modules)
import httpx
assert httpx.main
"""


def test_a_program_runs(timeball: Timeball) -> None:
    assert schedule(timeball) == "succeeded"


def test_a_program_with_an_event_loop_runs(world: World) -> None:
    async def work() -> str:
        async with async_client(world) as timeball:
            return await watch(timeball)

    assert asyncio.run(work()) == "succeeded"


def test_the_client_is_imported_fast_and_alone() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_name_of_the_package_exists_and_is_listed() -> None:
    assert sorted(dir(client)) == sorted(client.__all__)
    assert all(getattr(client, name) is not None for name in client.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Timebull'"):
        client.Timebull  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


@pytest.mark.more
def test_pyright_finds_the_mistakes_of_a_program_and_no_others(tmp_path: Path) -> None:
    assert PYRIGHT.exists(), "Run `make test-all`, which installs the tools."
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    text = PROGRAM.read_text(encoding="utf-8")
    mistakes = text.count("  # type: ignore")
    for name, program in (("right.py", text), ("wrong.py", text.replace("  # type: ignore", "  # here"))):
        (tmp_path / name).write_text(program)
    node = Path(sys.executable).with_name("node")
    command: list[str | Path] = [node, PYRIGHT, "--pythonpath", sys.executable, "--project", tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if " - error:" in line]
    assert len({line.split(":")[1] for line in errors}) == mistakes, done.stdout
    assert all("wrong.py" in line for line in errors), done.stdout
