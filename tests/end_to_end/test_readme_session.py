"""The first session of the README and the trial of docs/how-to/deploy.md, run as written on a deployed Timeball."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import Kind, blocks_of
from tests.docs.readme import ROOT
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_the_first_session_of_the_readme_works_as_written(stage: Stage) -> None:
    printed = _paste(ROOT / "README.md", "timeball job put hello", stage)
    assert re.search(r"^hello\.\d+\.s\thello\tsucceeded\t", printed, re.MULTILINE), printed


def test_the_trial_of_a_deployment_shows_that_a_run_succeeded_and_how_late_it_started(stage: Stage) -> None:
    printed = _paste(ROOT / "docs/how-to/deploy.md", "timeball job put smoke", stage)
    assert re.search(r'{"status": "succeeded", "lateness": [\d.]+}', printed), printed
    assert "ticks" in printed


def _paste(page: Path, begins: str, stage: Stage) -> str:
    """Run the block of a page that begins so; return what it prints into a pipe."""
    (block,) = (one for one in blocks_of(page) if one.kind is Kind.RUN and one.text.startswith(begins))
    ran = subprocess.run(
        ["bash", "-eu", "-c", block.text],  # noqa: S607 -- a reader runs it with the bash on their path
        env={
            "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            "TIMEBALL_URL": stage.deployment.api_url,
            "TIMEBALL_KEY": stage.key,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
