"""Fuzz the API over the memory store, or with `--running` a running Timeball: `python -m tests.fuzz --requests 20000`.

The first round goes through the whole document; later rounds draw again, each from the next seed.
"""

import argparse
import json
import logging
import sys
from pathlib import Path
from time import perf_counter

from tests.fuzz.campaign import PHASES, Address, Campaign, fuzz

_SESSION = Path(__file__).parents[2] / ".local/session.json"
_DRAWN = ("fuzzing", "stateful")
_SHOWN = 10


def main() -> int:
    """Run the rounds that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--requests", type=int, default=5_000, help="the least number of requests")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first round")
    parser.add_argument("--examples", type=int, default=50, help="examples of each operation in a random phase")
    parser.add_argument("--paths", default=".", help="only paths that match this pattern, such as trigger")
    parser.add_argument(
        "--running", action="store_true", help="send the requests to the Timeball that `make run` started"
    )
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    to = _running() if asked.running else None
    begun, total, seed = perf_counter(), Campaign(), asked.seed
    while total.requests < asked.requests:
        found = fuzz(seed, asked.examples, _DRAWN if total.requests else PHASES, to, asked.paths)
        total += found
        print(
            f"seed {seed}: {found.requests} requests, {len(found.complaints)} complaints; "
            f"{total.requests} of {asked.requests}, {perf_counter() - begun:.0f} s",
            flush=True,
        )
        seed += 1
    _tell(total)
    return bool(total.complaints)


def _running() -> Address:
    session = json.loads(_SESSION.read_text(encoding="utf-8"))
    return Address(session["apiUrl"], session["apiKey"])


def _tell(total: Campaign) -> None:
    print("answers:", ", ".join(f"{status}: {count}" for status, count in sorted(total.statuses.items())))
    print("expected failures (tests/fuzz/explained.py):")
    for why, count in total.explained.most_common():
        print(f"{count:>8}  {why}")
    for complaint in total.complaints[:_SHOWN]:
        print(f"\n{complaint}")
    if total.complaints:
        print(f"\n{len(total.complaints)} complaints; the same seed and number of requests repeat them")


if __name__ == "__main__":
    sys.exit(main())
