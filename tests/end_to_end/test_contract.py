"""The contract tests of stores and queues on the embedded AWS: as deployed, and for a release in other configurations.

These tests need no deployment. So they have their own emulator, and need not wait for the other tests of this folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local.installed import EMULATOR, ROOT
from timeball.dev.emulator import Emulator


@pytest.mark.parametrize("which", ["not more", pytest.param("more", marks=pytest.mark.more)])
def test_the_embedded_aws_keeps_the_contract(tmp_path: Path, which: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "tests/contract", "-k", "endpoint", "-m", which]
    with Emulator(tmp_path, EMULATOR) as emulator:
        emulator.await_health()
        environment = {
            **os.environ,
            **emulator.client_environment,
            "TIMEBALL_CONTRACT_ENDPOINT": emulator.endpoint,
        }
        suite = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert suite.returncode == 0, suite.stdout[-5000:]
    passed = re.search(r"(\d+) passed", suite.stdout)
    assert passed is not None
    assert int(passed[1]) >= 100
