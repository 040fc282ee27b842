"""`timeball dev` from a wheel in an empty environment: its key works, and its data survive a stop and a kill."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.installed import ROOT
from tests.end_to_end.steps import until

pytestmark = [pytest.mark.more, pytest.mark.xdist_group("wheel")]

JOB = {"handler": "https://example.com/hook", "cronExpression": "0 3 1 1 *"}


@dataclass(frozen=True)
class Dev:
    """A running `timeball dev`."""

    process: subprocess.Popen[str]
    api: str
    key: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.api}{path}", content, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)


@pytest.fixture(scope="module")
def timeball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment that has the wheel and its extra, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    uv, python = str(Path(sys.executable).parent / "uv"), str(folder / "empty/bin/python")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder / "empty")], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, f"{wheel}[dev]"], check=True)
    return folder / "empty/bin/timeball"


@contextmanager
def running(timeball: Path, folder: Path) -> Iterator[Dev]:
    ours = ("AWS_", "CDK_", "JSII_", "PYTHON", "TIMEBALL_", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    process = subprocess.Popen(
        [str(timeball), "dev", "--data", str(folder / "data")],
        cwd=folder,
        # No Node, no CDK, and no tool but uv on the path.
        env={
            **environment,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    printed = ""
    try:
        assert process.stdout is not None
        for line in process.stdout:
            printed += line
            if "Ctrl-C ends it" in line:
                break
        found = re.search(r"^  API +(\S+)\n  Key +(\S+)$", printed, re.MULTILINE)
        assert found, printed
        yield Dev(process, found[1], found[2])
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_a_job_is_found_again_after_a_stop_and_after_a_kill(timeball: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uv").symlink_to(Path(sys.executable).parent / "uv")

    with running(timeball, tmp_path) as dev:
        first = dev.ask("POST", "/v1/jobs", JOB)["jobId"]
        dev.process.send_signal(signal.SIGTERM)
        assert dev.process.wait(120) == 0

    with running(timeball, tmp_path) as again:
        assert (again.api, again.key) == (dev.api, dev.key)
        assert again.ask("GET", f"/v1/jobs/{first}")["jobId"] == first
        second = again.ask("POST", "/v1/jobs", {**JOB, "name": "second"})["jobId"]

    with running(timeball, tmp_path) as last:
        assert {first, second} <= {job["jobId"] for job in last.ask("GET", "/v1/jobs")["items"]}
        page = {"type": "http", "method": "GET", "url": f"{last.api}/healthz"}
        third = last.ask("POST", "/v1/jobs", {"target": page, "delaySeconds": 1})["jobId"]
        until(
            lambda: last.ask("GET", f"/v1/jobs/{third}")["status"] == "completed",
            otherwise="no job runs after a restart",
        )
