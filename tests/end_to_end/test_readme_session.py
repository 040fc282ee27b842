"""The session in the README and the smoke test of docs/reference/aws.md, run as written against a deployed Timeball."""

import json
import os
import subprocess

import pytest

from tests.docs.readme import session, smoke_test
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_the_session_in_the_readme_works_as_written(stage: Stage) -> None:
    ran = _run(session(), stage)

    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[1::2] == ["201", "200", "200", "201", "200"], ran.stdout
    created, over, ledger, report, cancelled = (json.loads(answer) for answer in lines[::2])
    assert (created["status"], created["name"]) == ("pending", "hello")
    assert (over["jobId"], over["status"]) == (created["jobId"], "completed")
    (run,) = ledger["items"]
    assert (run["jobId"], run["status"], run["attempt"]) == (created["jobId"], "succeeded", 1)
    assert run["lateness"] >= 0
    assert len(report["nextRuns"]) == 5
    assert (cancelled["jobId"], cancelled["status"]) == (report["jobId"], "cancelled")
    assert cancelled["claimedRuns"] == []


def test_the_smoke_test_shows_that_a_run_succeeded_and_how_late_it_started(stage: Stage) -> None:
    ran = _run(smoke_test(), stage)

    assert (ran.returncode, ran.stderr) == (0, "")
    status, lateness = ran.stdout.split()
    assert status == "succeeded"
    assert float(lateness) >= 0


def _run(script: str, stage: Stage) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-eu", "-c", script],  # noqa: S607 -- a reader runs it with the bash on their path
        env={"PATH": os.environ["PATH"], "API": stage.deployment.api_url, "KEY": stage.key},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
