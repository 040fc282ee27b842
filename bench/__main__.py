"""Every measurement that needs no AWS, in one table beside the figures of the last release: `make bench`.

Figures are processor time and counts, because the wall clock of a busy machine means nothing. Even the processor time
grows on a busy machine, by half and more: `machine_cpu_ms` is the time for constant work, and shows how slow the
machine is now. All figures go to `bench/out/summary.json`. With `--keep` they become those of the release
(`bench/baseline.json`).
"""

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from bench import stepping
from bench.bill import idle_month, usd_per_million, whole_month
from bench.endpoint import endpoint
from bench.handlers import RUNS, measure

_HERE = Path(__file__).parent
SUMMARY, BASELINE = _HERE / "out" / "summary.json", _HERE / "baseline.json"

FIGURES: Mapping[str, str] = {
    "machine_cpu_ms": "constant work, to compare the others with (ms of processor time)",
    "scan_cpu_ms_per_run": f"scan's processor time for {RUNS['recurring']:,} recurring runs at one instant (ms a run)",
    "execute_cpu_ms_per_run": "executors' processor time for these, each a POST over a new connection (ms a run)",
    "submit_cpu_ms_single": "API's processor time for a job in its own request (ms)",
    "submit_cpu_ms_batch": "API's processor time for a job in a batch of a hundred (ms)",
    "scan_requests_per_run": "requests of the scan to AWS (a run of the burst)",
    "execute_requests_per_run": "requests of executors to AWS, without those of Lambda's pollers",
    "requests_per_run": "both",
    "read_units_per_run": "read units of scan and executors (a run of the burst)",
    "write_units_per_run_recurring": "write units of a fire of a recurring job",
    "write_units_one_off_lifetime": "write units of a one-off, from its creation to its end",
    "step_us_utc": "one step of a cron expression in UTC, the median of 17 (us)",
    "step_us_zoned": "one step of a cron expression in New York, the median of 17 (us)",
    "import_cpu_ms_scan": "cold start of the scan: loaded and connected (ms of processor time)",
    "import_cpu_ms_execute": "cold start of an executor",
    "import_cpu_ms_api": "cold start of the API",
    "tick_requests_idle": "requests of a scan when nothing is due, on average",
    "tick_cpu_ms_idle": "processor time of that (ms)",
    "tick_read_units_idle": "read units of that",
    "first_scan_requests": "requests of a process's first scan",
    "first_scan_requests_new_table": "requests of a table's very first scan, which looks back a month",
    "tick_cost_ratio_1k_to_100k": "read units of a tick with 100,000 jobs not due, divided by those with 1,000",
    "idle_usd_per_month": "an idle month of the stage `small`, by documented prices ($)",
    "watched_usd_per_month": "the same with alarms, the dashboard, the canary and an execution that stands by ($)",
    "usd_per_million_recurring": "a million fires of recurring jobs in such bursts, by documented prices ($)",
    "usd_per_million_one_off": "a million one-offs with their creation, by documented prices ($)",
}
"""The meaning of each figure."""

_PIECES = 2_000
_LOUD = 1.25
"""How much worse than the release's a figure must be to be marked."""


def _slowness() -> float:
    """Measure work like that of the handlers (ms): rows are built, turned into text and back, and hashed."""
    begun = time.process_time()
    for number in range(_PIECES):
        row = {f"attribute_{name}": {"S": f"value {number}"} for name in range(30)}
        hashlib.sha256(json.dumps(json.loads(json.dumps(row))).encode()).hexdigest()
    return (time.process_time() - begun) * 1000


def figures() -> dict[str, float]:
    """Measure everything; takes some two minutes."""
    slowness = [_slowness()]
    with endpoint() as aws:
        recurring, one_off = measure("burst", aws, "recurring"), measure("burst", aws, "one_off")
        submitted = measure("submit", aws)
    with endpoint() as aws:
        idle, beside = measure("idle", aws), measure("ticks", aws)
        functions = ("scan", "execute", "api")
        modules = ("functions.scan", "functions.execute", "functions.api")
        cold = {
            # The least of three, because the first may compile.
            f"import_cpu_ms_{name}": min(measure("imports", aws, module)["cpu_ms"] for _ in range(3))
            for name, module in zip(functions, modules, strict=True)
        }
    slowness.append(_slowness())
    steps = {
        name: median(stepping.microseconds(stepping.timeball_steps, one, zone) for one in stepping.EXPRESSIONS)
        for name, zone in (("step_us_utc", "UTC"), ("step_us_zoned", "America/New_York"))
    }
    return {
        "machine_cpu_ms": max(slowness),
        "scan_cpu_ms_per_run": recurring["scan_cpu_ms"],
        "execute_cpu_ms_per_run": recurring["execute_cpu_ms"],
        "submit_cpu_ms_single": submitted["single"],
        "submit_cpu_ms_batch": submitted["batch"],
        "scan_requests_per_run": recurring["scan_requests"],
        "execute_requests_per_run": recurring["execute_requests"],
        "requests_per_run": recurring["scan_requests"] + recurring["execute_requests"],
        "read_units_per_run": recurring["read_units"],
        "write_units_per_run_recurring": recurring["write_units"],
        "write_units_one_off_lifetime": one_off["submit_write_units"] + one_off["write_units"],
        **steps,
        **cold,
        "tick_requests_idle": idle["requests"],
        "tick_cpu_ms_idle": idle["cpu_ms"],
        "tick_read_units_idle": idle["read_units"],
        "first_scan_requests": idle["first_requests"],
        "first_scan_requests_new_table": idle["first_of_all_requests"],
        "tick_cost_ratio_1k_to_100k": beside["read_units_100k"] / beside["read_units_1k"],
        "idle_usd_per_month": sum(item.dollars for item in idle_month(idle["read_units"], idle["cpu_ms"])),
        "watched_usd_per_month": sum(item.dollars for item in whole_month(idle["read_units"], idle["cpu_ms"])),
        "usd_per_million_recurring": usd_per_million(recurring),
        "usd_per_million_one_off": usd_per_million(one_off, submitted["single"]),
    }


def main(arguments: list[str]) -> int:
    """Print the table, and write it."""
    found = {name: round(figure, 3) for name, figure in figures().items()}
    before: dict[str, float] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    print(f"{'':<32}{'now':>10}{'release':>10}")
    for name, about in FIGURES.items():
        was = before.get(name)
        is_worse = was is not None and found[name] > was * _LOUD
        beside = "-" if was is None else f"{was:.3f}"
        print(f"{name:<32}{found[name]:>10.3f}{beside:>10}{'  WORSE' if is_worse else '':<8} {about}")
    print("\nan idle month of `small`, and what can be added to it, by documented prices:")
    scans = found["tick_read_units_idle"], found["tick_cpu_ms_idle"]
    for item in whole_month(*scans):
        print(f"{item.what:<60}{item.quantity:>20}{item.dollars:>10.2f}")
    for what, items in (("in all", idle_month(*scans)), ("with everything added", whole_month(*scans))):
        print(f"{what:<80}{sum(item.dollars for item in items):>10.2f}")
    for file in (SUMMARY, *([BASELINE] if "--keep" in arguments else [])):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(found, indent=2) + "\n")
    print(f"written to {SUMMARY.relative_to(_HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
