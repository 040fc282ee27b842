"""The contract suite of the stores and queues, asked of the embedded AWS: single writes, and PartiQL in batches."""

import os
import re
import subprocess
import sys

import pytest

from local.emulator import ROOT
from local.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_the_embedded_aws_keeps_the_contract_in_both_forms_of_writing(stage: Stage) -> None:
    environment = {
        **os.environ,
        **stage.emulator.client_environment,
        "TIMEBALL_CONTRACT_ENDPOINT": stage.emulator.endpoint,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "tests/contract", "-k", "endpoint"]
    suite = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert suite.returncode == 0, suite.stdout[-5000:]
    passed = re.search(r"(\d+) passed", suite.stdout)
    assert passed is not None
    assert int(passed[1]) >= 150
