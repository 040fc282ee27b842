"""Play every case, find each stage's capacity and write the figures of docs/concepts/scale.md: `make scale`."""

import logging
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace

from bench.scale.cases import CASES, PLACED, PROMISED_LARGE, PROMISED_SMALL, QUIET_FOR_POLLERS, STAGES, Case, Wave
from bench.scale.deployment import Deployment, arithmetic
from bench.scale.limits import MEASURED
from bench.scale.outcome import Outcome, play
from bench.scale.report import curve, keep
from bench.scale.scanning import CPU_MS, scan_rate

_RATES = (
    200,
    300,
    500,
    700,
    1_000,
    1_500,
    2_000,
    3_000,
    5_000,
    7_000,
    8_000,
    10_000,
    12_000,
    15_000,
    20_000,
    30_000,
    40_000,
)
_WHOLE = 20_000
"""Spikes up to this size are played whole: in a part with few runs, two late messages are one percent."""
_SPIKES = (*_RATES, 50_000, 70_000, 100_000, 150_000, 200_000)


def shown(case: Case) -> tuple[Mapping[str, object], str]:
    """Play a case; return its figures and its curve."""
    outcome = play(case)
    return outcome.figures(), curve(outcome)


def sustained(deployment: Deployment) -> Mapping[str, object]:
    """Return the highest of some rates that a deployment sustains, the first limit beyond it, and its costs."""
    warm = replace(deployment, is_warm=True)
    rate, kept, beyond = _highest(_RATES, lambda rate: play(Case("", warm, (Wave(rate, 0, 10),), 30)))
    return {
        "sustained": rate,
        "sustained_limit": beyond.first_limit(),
        "dollars_per_million": round(kept.dollars_per_million(), 2),
        "dollars_per_month": round(kept.dollars_per_month()),
    }


def spike(deployment: Deployment) -> Mapping[str, object]:
    """Return the largest of some spikes after quiet that a deployment handles, and the first limit beyond it."""
    quiet = QUIET_FOR_POLLERS if deployment.settings.raised_of else 12

    def play_at(size: int) -> Outcome:
        played = replace(deployment, parts=1) if size <= _WHOLE else deployment
        return _usual(Case("", played, (Wave(size),), 30, quiet))

    size, _, beyond = _highest(_SPIKES, play_at)
    return {"deployment": deployment.told(), "spike": size, "spike_limit": beyond.first_limit()}


def _usual(case: Case) -> Outcome:
    """Play a case up to three times and return an outcome that stands for two: one late cold start decides nothing."""
    first, second = play(case, 1), play(case, 2)
    return first if first.is_kept == second.is_kept else play(case, 3)


def _highest(sizes: tuple[int, ...], play_at: Callable[[int], Outcome]) -> tuple[int, Outcome, Outcome]:
    """Return the largest size that is kept, found by bisection; its outcome, and that of the next size, if any."""
    played: dict[int, Outcome] = {}

    def is_beyond(size: int) -> bool:
        played[size] = play_at(size)
        return not played[size].is_kept

    kept_to = bisect_left(sizes, 1, key=is_beyond)
    if kept_to == 0:
        raise ValueError("the smallest size is not kept")
    kept, beyond = sizes[kept_to - 1], sizes[min(kept_to, len(sizes) - 1)]
    return kept, played[kept], played[beyond]


def main() -> int:
    """Play all cases in parallel on all processors, and write the results."""
    with ProcessPoolExecutor(int(os.environ.get("WORKERS", "0")) or None, initializer=_be_quiet) as processes:
        cases = [processes.submit(shown, case) for case in CASES]
        placed = [processes.submit(shown, case) for case in PLACED]
        found = [(processes.submit(sustained, one), processes.submit(spike, one)) for one in STAGES]
        rates = [processes.submit(scan_rate, cpu_ms) for cpu_ms in (MEASURED.scan_ms, *CPU_MS)]
        for case, future in zip(CASES, cases, strict=True):
            print(f"{case.name}: {future.result()[0]}", flush=True)
        for case, future in zip(PLACED, placed, strict=True):
            print(f"{case.deployment.stage}, {case.name}: {future.result()[0]}", flush=True)
        capacity = [_both(*pair) for pair in found]
        scans = [future.result() for future in rates]
    reckoned = [arithmetic(STAGES[0], PROMISED_SMALL), arithmetic(STAGES[1], PROMISED_LARGE)]
    keep([future.result() for future in cases], [future.result()[0] for future in placed], capacity, scans, reckoned)
    return 0


def _be_quiet() -> None:
    """Turn off logging of throttled requests, which are counted."""
    logging.disable()


def _both(*pair: Future[Mapping[str, object]]) -> Mapping[str, object]:
    figures = {name: value for future in pair for name, value in future.result().items()}
    print(figures, flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(main())
