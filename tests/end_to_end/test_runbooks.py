"""The commands of the runbooks, run as written against a deployed Timeball; `aws` is a stand-in on boto3.

A page about a part that the local stage does not have is listed: its commands are only held against AWS's models and
the API's routes, in tests/docs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.readme import runbook_commands
from tests.end_to_end import aws_cli
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")

ABSENT = frozenset({"archive-behind", "canary-missed", "canary-off-time", "events-behind"})
"""Runbooks of parts that the local stage lacks: it has no canary, no archive and no lifecycle events."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a command `aws`."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "aws"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {aws_cli.__file__} "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize("page", sorted({*runbook_commands()} - ABSENT))
def test_the_commands_of_a_runbook_run_as_written(page: str, stage: Stage, tools: Path) -> None:
    outputs = {
        re.sub(r"(?<!^)([A-Z])", r"_\1", name).upper(): value for name, value in stage.deployment.outputs.items()
    }
    for block in runbook_commands()[page]:
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],  # noqa: S607 -- a reader runs it with the bash on their path
            env={
                "PATH": f"{tools}:{os.environ['PATH']}",
                **stage.emulator.client_environment,
                **outputs,
                "API": stage.deployment.api_url,
                "KEY": stage.key,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, ""), f"{block}\n{ran.stdout}\n{ran.stderr}"
