"""Play stories in parallel, with as many processes as there are processors."""

import gc
import logging
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.simulation import recovery
from tests.simulation.checker import complaints
from tests.simulation.faults import FAULTS
from tests.simulation.play import play


def processes(count: int | None = None) -> ProcessPoolExecutor:
    """Return a pool that plays stories. Garbage is collected seldom, because a story makes much of it and ends soon."""
    return ProcessPoolExecutor(count or os.cpu_count(), initializer=_collect_seldom)


def check(seed: int, fault: str | None = None) -> tuple[int, list[str]]:
    """Play one story, with a broken engine if a fault is named. Return its seed and its complaints."""
    logging.disable(logging.CRITICAL)
    with pytest.MonkeyPatch.context() as patch:
        if fault is not None:
            FAULTS[fault].apply(patch)
        try:
            return seed, complaints(play(seed))
        except Exception as error:  # noqa: BLE001 - a story that breaks off is a failed story
            return seed, [f"{type(error).__name__}: {error}"]


def check_recovery(seed: int) -> tuple[int, list[str]]:
    """Play one story of a loss. Return its seed and its complaints."""
    logging.disable(logging.CRITICAL)
    try:
        return seed, recovery.complaints(seed)
    except Exception as error:  # noqa: BLE001 - as above
        return seed, [f"{type(error).__name__}: {error}"]


def _collect_seldom() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
