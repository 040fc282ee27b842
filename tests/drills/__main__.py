"""Play drills, and print drill → alarm → seconds: `python -m tests.drills`, or one: `python -m tests.drills NAME`.

`--calm 1000` plays that many calm stories instead, which must set off no alarm.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from tests.drills.calm import alarms_of_story
from tests.drills.deployment import PARTITIONS
from tests.drills.drill import Played, alarms_template, faults_of, play
from tests.drills.releases import RELEASE_DRILLS
from tests.drills.table import DRILLS
from tests.simulation.side_by_side import processes

_NONE = "none"


def _play(name: str, template: dict[str, object]) -> tuple[str, Played]:
    logging.disable(logging.CRITICAL)
    return name, play(DRILLS[name], template)


def main() -> int:
    """Play the drills that the arguments select."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills")
    parser.add_argument(
        "name", nargs="?", choices=sorted([*DRILLS, *RELEASE_DRILLS]), help="the name of a drill; all without it"
    )
    parser.add_argument("--calm", type=int, metavar="COUNT", help="play so many calm stories instead of drills")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first calm story")
    asked = parser.parse_args()
    if asked.calm:
        return _play_calm(range(asked.first, asked.first + asked.calm))
    names = [asked.name] if asked.name else [*DRILLS, *RELEASE_DRILLS]
    template, failed = alarms_template(PARTITIONS), False
    print(f"{'drill':<20} {'alarm':<24} {'after':>8} {'at most':>8}  over after, on time after")
    with ProcessPoolExecutor() as pool:
        for name, played in pool.map(_play, [name for name in names if name in DRILLS], repeat(template)):
            drill, faults = DRILLS[name], faults_of(DRILLS[name], played)
            failed |= bool(faults)
            for alarm, after in sorted(played.alarms.items(), key=lambda one: one[1]) or [(_NONE, 0)]:
                times = (
                    ("", "", "")
                    if alarm == _NONE
                    else (f"{after} s", f"{drill.alarms.get(alarm, '?')} s", f"{max(played.over[alarm], 0)} s")
                )
                print(
                    f"{name:<20} {alarm:<24} {times[0]:>8} {times[1]:>8}  {times[2]:<10}  {played.repaired} s",
                    flush=True,
                )
            for fault in faults[:5]:
                print(f"    {fault}")
    for name in (name for name in names if name in RELEASE_DRILLS):
        found = [*RELEASE_DRILLS[name].play(template)]
        failed |= bool(found)
        print("\n".join([f"{name:<20} {_NONE:<24}", *(f"    {fault}" for fault in found[:5])]), flush=True)
    print("each drill shows what it must" if not failed else "some drills fail")
    return failed


def _play_calm(seeds: Sequence[int]) -> int:
    """Play calm stories, and print the alarms that they set off."""
    template, failed = alarms_template(PARTITIONS), 0
    with processes() as pool:
        found = pool.map(alarms_of_story, seeds, repeat(template), chunksize=10)
        for seed, faults in zip(seeds, found, strict=True):
            failed += bool(faults)
            for fault in faults[:3]:
                print(f"calm story {seed}: {fault}", flush=True)
    print(f"{len(seeds)} calm stories, {failed} with an alarm or a broken promise")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
