"""Play stories: `python -m tests.simulation --seeds 10000`, or one, step by step: `--trace 17`.

`--faults` finds each deliberate fault that its story no longer shows, and searches this many stories for one that does
(reseed.py). `--only graphs` plays this many stories in which jobs wait for jobs, and no others. Each `has_…` of a story
and of its hardships (hardships.py) works likewise, and `--only keys,hot_rows` plays those that have both. `--dags`
compares this many random graphs with a reference (tests/engine/dependencies/random_graphs.py). `--recover` plays this
many stories in which rows, messages and watches are lost (recovery.py).
"""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from time import perf_counter

from tests.engine.dependencies import random_graphs
from tests.simulation import recovery
from tests.simulation.checker import complaints
from tests.simulation.hardships import Hardships
from tests.simulation.play import play
from tests.simulation.reseed import reseed
from tests.simulation.side_by_side import check, check_recovery, processes
from tests.simulation.story import Story

_SHOWN_EVERY = 200


def check_graph(seed: int) -> tuple[int, list[str]]:
    """Play one random graph, and return its seed and its faults."""
    logging.disable(logging.CRITICAL)
    try:
        return seed, random_graphs.complaints(seed)
    except Exception as error:  # noqa: BLE001 - a graph that breaks off has failed
        return seed, [f"{type(error).__name__}: {error}"]


_AGAIN: dict[Callable[[int], tuple[int, list[str]]], str] = {
    check: "--trace {}",
    check_recovery: "--recover --trace {}",
    check_graph: "--dags --from {} --seeds 1",
}
"""The arguments that play one story again."""


def main() -> int:
    """Play the stories or graphs that the arguments select."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many stories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--trace", type=int, metavar="SEED", help="show one story step by step")
    parser.add_argument(
        "--faults", action="store_true", help="find faults that their stories no longer show, and stories that do"
    )
    parser.add_argument(
        "--only", metavar="CLASS", help="play only stories of a class, or of several: graphs or keys,hot_rows"
    )
    parser.add_argument("--dags", action="store_true", help="compare this many random graphs with a reference")
    parser.add_argument("--recover", action="store_true", help="play stories of losses, and of recoveries from them")
    parser.add_argument("--processes", type=int, help="how many stories are played at once")
    asked = parser.parse_args()
    if asked.trace is not None:
        found = recovery.complaints(asked.trace, print) if asked.recover else complaints(play(asked.trace, print))
        print("\n".join(found) or "every promise was kept")
        return bool(found)
    seeds: Sequence[int] = range(asked.first, asked.first + asked.seeds)
    if asked.only:
        of_class = (seed for seed in count(asked.first) if all(_has(seed, name) for name in asked.only.split(",")))
        seeds = [*islice(of_class, asked.seeds)]
    with processes(asked.processes) as pool:
        if asked.faults:
            return bool(reseed(pool, seeds))
        return _play_all(pool, seeds, check_graph if asked.dags else check_recovery if asked.recover else check)


def _has(seed: int, name: str) -> bool:
    """Return whether a story is of a class, or has a hardship."""
    one = Hardships(seed) if hasattr(Hardships, f"has_{name}") else Story(seed)
    return bool(getattr(one, f"has_{name}"))


def _play_all(pool: ProcessPoolExecutor, seeds: Sequence[int], play_one: Callable[[int], tuple[int, list[str]]]) -> int:
    begun = perf_counter()
    failed = 0
    for done, (seed, found) in enumerate(pool.map(play_one, seeds, chunksize=10), 1):
        if found:
            failed += 1
            again = _AGAIN[play_one].format(seed)
            print(f"seed {seed}: {found[0]}\n  replay it: python -m tests.simulation {again}")
        if done % _SHOWN_EVERY == 0 or done == len(seeds):
            print(f"{done} of {len(seeds)} stories, {failed} failed, {perf_counter() - begun:.0f} s", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
