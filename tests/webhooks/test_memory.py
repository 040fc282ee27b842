"""The memory that an answer of a gigabyte takes, measured in a process that does nothing else."""

import asyncio
import multiprocessing
import re
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.webhooks.floods import flooding
from tests.webhooks.targets import LOCAL, NOW, a_call, self_signed, trusting
from timeball.targets.http.caller import http_caller
from timeball.testing.virtual_clock import VirtualClock

MOST_MB = 32
TIMES = 10
_STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not _STATUS.exists(), reason="only Linux shows the peak memory of a process")
@pytest.mark.parametrize(
    ("answer", "over"), [("with its length", "plain"), ("in many chunks", "tls"), ("as a header", "plain")]
)
def test_ten_answers_of_a_gigabyte_at_once_cost_less_than_32_mb(answer: str, over: str, tmp_path: Path) -> None:
    folder = tmp_path if over == "tls" else None
    if folder:
        self_signed(folder)
    here, there = multiprocessing.Pipe()
    with flooding(answer, folder) as (hostile, neighbour):
        arguments = (there, hostile, neighbour, folder)
        process = multiprocessing.get_context("spawn").Process(target=_measure, args=arguments, daemon=True)
        process.start()
        there.close()
        grown_mb = here.recv()
        process.join()
    print(f"{answer}, {over}: {grown_mb:.1f} MB")  # noqa: T201 -- a figure for `pytest -s`
    assert grown_mb < MOST_MB


def _measure(connection: Connection, hostile: str, neighbour: str, folder: Path | None) -> None:
    connection.send(asyncio.run(_grown_mb(hostile, neighbour, folder)))


async def _grown_mb(hostile: str, neighbour: str, folder: Path | None) -> float:
    """Return how much more memory ten large answers took at their peak than ten small ones."""
    trust = trusting(folder) if folder else None
    async with http_caller(VirtualClock(NOW), LOCAL, trust=trust) as caller:
        await asyncio.gather(*(caller.call(a_call(neighbour, timeout=60)) for _ in range(TIMES)))
        before_mb = _most_mb()
        await asyncio.gather(*(caller.call(a_call(hostile, timeout=60)) for _ in range(TIMES)))
        return _most_mb() - before_mb


def _most_mb() -> float:
    # Not `ru_maxrss`, which a process inherits from its parent.
    (kilobytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(kilobytes) / 1024
