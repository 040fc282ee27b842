"""An executor whose time is half over starts a successor by its role's rights, and the successor takes waiting runs."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.emulated import no_executor, processes_of
from tests.end_to_end.steps import calls_of, until
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")

EXECUTOR = "execute-low"
HALF_OVER_SECONDS = 400
"""With this much time left, an executor still takes waiting runs, and starts its successor."""


@contextmanager
def timeout_of(stage: Stage, seconds: int) -> Iterator[None]:
    """Set the executor's timeout. A running executor is ended, now and at the end of the test."""
    functions, name = stage.emulator.client("lambda"), f"{stage.deployment.name}-{EXECUTOR}"
    before = functions.get_function_configuration(FunctionName=name)["Timeout"]
    functions.update_function_configuration(FunctionName=name, Timeout=seconds)
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Timeout=before)


def test_a_successor_takes_waiting_runs_after_its_predecessor_is_gone(
    stage: Stage, client: ApiClient, receiver: Receiver
) -> None:
    def submit(path: str) -> dict[str, str]:
        job: dict[str, str] = client.create(
            {"handler": f"{receiver.url}{path}", "delaySeconds": 1, "priority": "low", "timeoutSeconds": 90}
        )
        return job

    with timeout_of(stage, HALF_OVER_SECONDS):
        hangs = submit("/slow/60/1")
        until(lambda: len(calls_of(receiver, hangs)) == 1, otherwise="the executor did not begin")
        (predecessor,) = processes_of(stage, EXECUTOR)
        with no_executor(stage, EXECUTOR):
            found = submit("/ok")
            until(lambda: len(calls_of(receiver, found)) == 1, otherwise="the executor took nothing more")
            until(lambda: len(processes_of(stage, EXECUTOR)) == 2, otherwise="it started no successor")
            os.kill(predecessor, signal.SIGKILL)
            until(lambda: predecessor not in processes_of(stage, EXECUTOR))
            taken = submit("/ok")
            until(lambda: len(calls_of(receiver, taken)) == 1, otherwise="the successor took nothing")
