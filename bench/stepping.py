"""The time of one step of a cron schedule, in UTC and where clocks change, beside croniter and cronsim.

`python bench/stepping.py` prints a table. With `--check` it exits with 1 if the median of our own steps is above 10 µs
in UTC or 40 µs in the other zone.
"""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from zoneinfo import ZoneInfo

from timeball.domain.time.cron import parse_cron
from timeball.domain.time.stepper import next_fire
from timeball.domain.time.zones import load_zone

LIMITS_US = {"UTC": 10.0, "America/New_York": 40.0}
START = datetime(2026, 1, 1, tzinfo=UTC)
STEPS, ROUNDS = 200, 5
EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "*/15 9-17 * * 1-5",
    "30 2 * * *",
    "0 0 * * *",
    "0 9 * * 1-5",
    "15,45 1,13 * * *",
    "0 3 * * 0",
    "0 0 1 * *",
    "0 12 1,15 * *",
    "17 4 13 * 5",
    "0 0 31 * *",
    "0 6 L * *",
    "0 8 * * 1#1",
    "0 0 1 1 *",
    "0 0 29 2 *",
)
"""From each minute to once in four years; only syntax that all three libraries support."""

Make = Callable[[str, str], Callable[[], object]]
"""A function from an expression and a zone to a function that makes one step."""


def timeball_steps(expression: str, zone: str) -> Callable[[], object]:
    """Step with Timeball, each step from the fire before."""
    fields, loaded = parse_cron(expression), load_zone(zone)
    at = int(START.timestamp()) * 1000

    def step() -> None:
        nonlocal at
        at = next_fire(fields, loaded, at) or at

    return step


def croniter_steps(expression: str, zone: str) -> Callable[[], object]:
    """Step with croniter."""
    clock = import_module("croniter").croniter(expression, START.astimezone(ZoneInfo(zone)), ret_type=datetime)
    return lambda: clock.get_next(datetime)


def cronsim_steps(expression: str, zone: str) -> Callable[[], object]:
    """Step with cronsim."""
    clock = import_module("cronsim").CronSim(expression, START.astimezone(ZoneInfo(zone)))
    return lambda: next(clock)


def microseconds(make: Make, expression: str, zone: str) -> float:
    """Measure a step: the mean of many, and the fastest of several rounds."""
    step = make(expression, zone)
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(STEPS // ROUNDS):
            step()
        best = min(best, (time.perf_counter() - begun) / (STEPS // ROUNDS) * 1e6)
    return best


def main(arguments: list[str]) -> int:
    """Print the table; with `--check` the exit status says whether the limits were kept."""
    makers: dict[str, Make] = {
        "timeball": timeball_steps,
        "croniter": croniter_steps,
        "cronsim": cronsim_steps,
    }
    present = {name: make for name, make in makers.items() if name == "timeball" or find_spec(name)}
    figures = {
        (name, zone): [microseconds(make, expression, zone) for expression in EXPRESSIONS]
        for name, make in present.items()
        for zone in LIMITS_US
    }
    print("microseconds per step")
    print(f"{'':<22}" + "".join(f"{name + ' ' + zone:>28}" for name, zone in figures))
    for row, expression in enumerate(EXPRESSIONS):
        print(f"{expression:<22}" + "".join(f"{figure[row]:>28.1f}" for figure in figures.values()))
    print(f"{'median':<22}" + "".join(f"{median(figure):>28.1f}" for figure in figures.values()))
    slow = [
        f"{zone}: {median(figures['timeball', zone]):.1f} µs, limit {limit:.0f} µs"
        for zone, limit in LIMITS_US.items()
        if median(figures["timeball", zone]) > limit
    ]
    for line in slow:
        print(f"too slow in {line}")
    return 1 if slow and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
