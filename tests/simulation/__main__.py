"""Play stories: `python -m tests.simulation --seeds 10000`, or one, step by step: `--trace 17`."""

import argparse
import logging
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter

from tests.simulation.checker import complaints
from tests.simulation.story import Story

_SHOWN_EVERY = 200


def check(seed: int) -> tuple[int, list[str]]:
    """Play one story; return its seed and what is wrong with it."""
    logging.disable(logging.CRITICAL)
    try:
        return seed, complaints(Story(seed).play())
    except Exception as error:  # noqa: BLE001 - a story that breaks off is a failed story
        return seed, [f"{type(error).__name__}: {error}"]


def main() -> int:
    """Play what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many stories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--trace", type=int, metavar="SEED", help="tell one story step by step")
    asked = parser.parse_args()
    if asked.trace is not None:
        found = complaints(Story(asked.trace, print).play())
        print("\n".join(found) or "every promise was kept")
        return bool(found)
    begun = perf_counter()
    failed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        seeds = range(asked.first, asked.first + asked.seeds)
        for done, (seed, found) in enumerate(pool.map(check, seeds, chunksize=10), 1):
            if found:
                failed += 1
                print(f"seed {seed}: {found[0]}\n  replay it: python -m tests.simulation --trace {seed}")
            if done % _SHOWN_EVERY == 0 or done == asked.seeds:
                print(f"{done} of {asked.seeds} stories, {failed} failed, {perf_counter() - begun:.0f} s", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
