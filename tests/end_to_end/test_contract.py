"""The contract suite of the stores and queues, asked of the embedded AWS: single writes, and PartiQL in batches.

It needs nothing that is deployed, so it has an emulator to itself and need not wait for the other tests of this folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from local.emulator import ROOT, Emulator


def test_the_embedded_aws_keeps_the_contract_in_both_forms_of_writing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "tests/contract", "-k", "endpoint"]
    with Emulator(tmp_path) as emulator:
        environment = {
            **os.environ,
            **emulator.client_environment,
            "TIMEBALL_CONTRACT_ENDPOINT": emulator.endpoint,
        }
        suite = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert suite.returncode == 0, suite.stdout[-5000:]
    passed = re.search(r"(\d+) passed", suite.stdout)
    assert passed is not None
    assert int(passed[1]) >= 150
