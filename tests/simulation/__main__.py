"""Play stories: `python -m tests.simulation --seeds 10000`, or one, step by step: `--trace 17`.

`--faults` tells of each deliberate fault in which story it is found first: the seeds of the catalogue.
`--graphs` plays so many stories in which jobs wait for jobs, and no others.
`--dags` holds so many random graphs against a reference (tests/engine/dependencies/random_graphs.py).
"""

import argparse
import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count, islice
from time import perf_counter

import pytest

from tests.engine.dependencies import random_graphs
from tests.simulation.checker import complaints
from tests.simulation.faults import FAULTS
from tests.simulation.play import play
from tests.simulation.story import Story

_SHOWN_EVERY = 200
_AT_ONCE = 20


def check(seed: int, fault: str | None = None) -> tuple[int, list[str]]:
    """Play one story, of a broken engine if a fault is named; return its seed and what is wrong with it."""
    logging.disable(logging.CRITICAL)
    with pytest.MonkeyPatch.context() as patch:
        if fault is not None:
            FAULTS[fault].apply(patch)
        try:
            return seed, complaints(play(seed))
        except Exception as error:  # noqa: BLE001 - a story that breaks off is a failed story
            return seed, [f"{type(error).__name__}: {error}"]


def check_graph(seed: int) -> tuple[int, list[str]]:
    """Play one random graph; return its seed and what is wrong with it."""
    logging.disable(logging.CRITICAL)
    try:
        return seed, random_graphs.complaints(seed)
    except Exception as error:  # noqa: BLE001 - a graph that breaks off has failed
        return seed, [f"{type(error).__name__}: {error}"]


def main() -> int:
    """Play what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many stories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--trace", type=int, metavar="SEED", help="tell one story step by step")
    parser.add_argument("--faults", action="store_true", help="look for each deliberate fault in so many stories")
    parser.add_argument(
        "--graphs", action="store_true", help="of so many seeds, only stories of jobs that wait for jobs"
    )
    parser.add_argument("--dags", action="store_true", help="hold so many random graphs against a reference")
    asked = parser.parse_args()
    if asked.trace is not None:
        found = complaints(play(asked.trace, print))
        print("\n".join(found) or "every promise was kept")
        return bool(found)
    seeds: Sequence[int] = range(asked.first, asked.first + asked.seeds)
    if asked.graphs:
        seeds = [*islice((seed for seed in count(asked.first) if Story(seed).has_graphs), asked.seeds)]
    with ProcessPoolExecutor(os.cpu_count(), initializer=_collect_seldom) as pool:
        if asked.faults:
            return _look_for_faults(pool, seeds)
        return _play_all(pool, seeds, check_graph if asked.dags else check)


def _collect_seldom() -> None:
    """Let the collector of garbage look up less often: a story makes much of it, and ends soon."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _play_all(pool: ProcessPoolExecutor, seeds: Sequence[int], play_one: Callable[[int], tuple[int, list[str]]]) -> int:
    begun = perf_counter()
    failed = 0
    for done, (seed, found) in enumerate(pool.map(play_one, seeds, chunksize=10), 1):
        if found:
            failed += 1
            again = f"--trace {seed}" if play_one is check else f"--dags --from {seed} --seeds 1"
            print(f"seed {seed}: {found[0]}\n  replay it: python -m tests.simulation {again}")
        if done % _SHOWN_EVERY == 0 or done == len(seeds):
            print(f"{done} of {len(seeds)} stories, {failed} failed, {perf_counter() - begun:.0f} s", flush=True)
    return bool(failed)


def _look_for_faults(pool: ProcessPoolExecutor, seeds: Sequence[int]) -> int:
    missed = 0
    for name in FAULTS:
        found = _first_find(pool, name, seeds)
        missed += found is None
        print(f"{name}, {FAULTS[name].found_by}: {'no story finds it' if found is None else found}", flush=True)
    return bool(missed)


def _first_find(pool: ProcessPoolExecutor, fault: str, seeds: Sequence[int]) -> str | None:
    for start in range(0, len(seeds), _AT_ONCE):
        for seed, found in pool.map(partial(check, fault=fault), seeds[start : start + _AT_ONCE]):
            if any(map(FAULTS[fault].is_told_by, found)):
                return f"seed {seed}"
    return None


if __name__ == "__main__":
    sys.exit(main())
