"""The kept results of the cases, shown in docs/concepts/scale.md: JSON figures, SVG curves, Markdown tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench.scale.chart import Line, chart
from bench.scale.outcome import Outcome
from bench.scale.trace import STEPS

DOCS = Path(__file__).parents[2] / "docs"
FIGURES, CURVES = DOCS / "scale/figures.json", DOCS / "scale"

Figures = Mapping[str, Any]

_LIMITS = {
    "executors": "executors of `normal`",
    "index partition": "one partition of the due index",
    "table": "units of the table",
    "table partition": "one partition of the table",
    "index": "units of the due index",
    "scans": "time of the scans",
}


_CASE_HEADS = (
    "case",
    "stage",
    "lateness p50 / p99 / max",
    "lost, doubled, early",
    "executors at once",
    "units a second: table, fullest index partition",
    "throttled writes",
    "requests a run",
    "a million runs",
)
_ARITHMETIC_HEADS = (
    "stage",
    "shards, partitions of the index",
    "runs a second",
    "units of the fullest partition, median day",
    "on 999 of 1,000 days at the most",
    "on the worst day",
    "days with at most 1,000",
    "highest rate, median day",
    "on 999 of 1,000 days",
    "units of the table's fullest partition",
)
_PLACED_HEADS = (
    "stage",
    "day, by its fullest partition",
    "lateness p50 / p99 / max",
    "lost, doubled, early",
    "units of the fullest index partition",
    "throttled writes",
)
_CAPACITY_HEADS = (
    "stage",
    "runs a second, sustained",
    "gives first",
    "spike after quiet, within a second",
    "gives first",
    "a million runs",
    "pollers, a month",
)


_TENTH = 0.1
_LITTLE = 10
"""Counts, milliseconds and units that differ by less are the same: a step of 3 ms to 4 ms is no news."""
_CENT = 0.01


def moved(before: Figures, after: Figures) -> list[str]:
    """Name the figures that differ by more than a tenth, and the words that differ, each with both of its values.

    The latest run of a case, and the steps of its latest hundredth, are not compared: one slow request moves them.
    """
    return [
        f"{name}: {was} before, {now} now"
        for (name, was), (_, now) in zip(_flat(before), _flat(after), strict=True)
        if not name.endswith(".max") and not name.startswith("steps.latest.") and not _is_near(was, now)
    ]


def _flat(figures: Figures, within: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in sorted(figures.items()):
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def _is_near(was: object, now: object) -> bool:
    if not isinstance(was, int | float) or not isinstance(now, int | float):
        return was == now
    least = _LITTLE if isinstance(was, int) else _CENT
    return abs(now - was) <= max(least, _TENTH * abs(was))


def kept() -> dict[str, list[Figures]]:
    """Return the figures that were kept last."""
    figures: dict[str, list[Figures]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return figures


def keep(
    cases: Sequence[tuple[Figures, str]],
    placed: Sequence[Figures],
    capacity: Sequence[Figures],
    scans: Sequence[Figures],
    arithmetic: Sequence[Figures],
) -> None:
    """Keep figures and curves."""
    CURVES.mkdir(exist_ok=True)
    for old in CURVES.glob("*.svg"):
        old.unlink()
    for case, drawn in cases:
        (CURVES / curve_name(case["case"])).write_text(drawn, encoding="utf-8")
    figures = {
        "cases": [case for case, _ in cases],
        "placed": list(placed),
        "capacity": list(capacity),
        "scans": list(scans),
        "arithmetic": list(arithmetic),
    }
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def curve_name(case: str) -> str:
    """Return the file of a case's curve."""
    return "".join(letter if letter.isalnum() else "-" for letter in case.lower()).replace("--", "-") + ".svg"


def curve(outcome: Outcome) -> str:
    """Draw the calls of each second, how late they were, and the executors at once."""
    late = outcome.late_by_second()
    first, last = min(late, default=0), max(late, default=0) + 15
    called, at_once = (
        {s: n for s, n in outcome.by_second(name).items() if first - 6 <= s <= last} for name in ("called", "at once")
    )
    return chart(
        outcome.case.name,
        [
            Line("calls begun a second", called),
            Line("late at p99, in ms, by instant", late),
            Line("executors at once", at_once),
        ],
    )


def cases_as_markdown() -> str:
    """Render the outcome of each case."""
    lines = _head(_CASE_HEADS)
    for one in kept()["cases"]:
        late, wrong = one["late_ms"], one["wrong"]
        lines.append(
            f"| {one['case']} | {_stage(one['deployment'])} | {_shown(late['p50'])} / {_shown(late['p99'])} / "
            f"{_shown(late['max'])} | {wrong['lost']}, {wrong['doubled']}, {wrong['early']} | {one['executors']:,} | "
            f"{one['table_units']:,}, {one['index_partition_units']:,} | {one['refused']:,} | "
            f"{one['requests_per_run']} | ${one['dollars_per_million']:.2f} |"
        )
    return "\n".join(lines)


def steps_as_markdown() -> str:
    """Render when the runs of each case passed each step, and when its latest runs did."""
    lines = _head(("case", "runs", *STEPS.values()))
    for one in kept()["cases"]:
        lines += [
            f"| {one['case']} | {runs} | {' | '.join(_beside(one['steps'][which][step]) for step in STEPS)} |"
            for which, runs in (("all", "half of all"), ("latest", "half of the latest hundredth"))
        ]
    return "\n".join(lines)


def curves_as_markdown() -> str:
    """Show each curve."""
    return "\n\n".join(f"![{one['case']}](../scale/{curve_name(one['case'])})" for one in kept()["cases"])


def capacity_as_markdown() -> str:
    """Render the sustained rate and the largest spike of each stage, and the first limit."""
    lines = _head(_CAPACITY_HEADS)
    lines += [
        f"| {_stage(one['deployment'])} | **{one['sustained']:,}** | {_LIMITS[one['sustained_limit']]} | "
        f"**{one['spike']:,}** | {_LIMITS[one['spike_limit']]} | ${one['dollars_per_million']:.2f} | "
        f"${one['dollars_per_month']:,.0f} |"
        for one in kept()["capacity"]
    ]
    return "\n".join(lines)


def arithmetic_as_markdown() -> str:
    """Render the load of the promised rate on the fullest partitions, and the rates that those allow."""
    lines = _head(_ARITHMETIC_HEADS)
    for one in kept()["arithmetic"]:
        units, highest, told = one["index_units"], one["highest"], one["deployment"]
        lines.append(
            f"| `{told['stage']}` | {told['shards']}, {one['index_partitions']} | {one['rate']:,} | "
            f"{units['median']:,} | {units['999']:,} | {units['worst']:,} | {one['days_kept']:,} | "
            f"{highest['median']:,} | {highest['999']:,} | {one['table_units']:,} of {one['table_partitions']} |"
        )
    return "\n".join(lines)


def placed_as_markdown() -> str:
    """Render the outcome of the promised rates on a median day and on the worst days."""
    lines = _head(_PLACED_HEADS)
    for one in kept()["placed"]:
        late, wrong = one["late_ms"], one["wrong"]
        lines.append(
            f"| `{one['deployment']['stage']}` | {one['case']} | {_shown(late['p50'])} / {_shown(late['p99'])} / "
            f"{_shown(late['max'])} | {wrong['lost']}, {wrong['doubled']}, {wrong['early']} | "
            f"{one['index_partition_units']:,} | {one['refused']:,} |"
        )
    return "\n".join(lines)


def scans_as_markdown() -> str:
    """Render how many runs a second one partition's scan dispatches."""
    measured, *others = kept()["scans"]
    lines = _head(("processor time of a run", "by its share of a processor alone", "in the model"))
    for one in sorted([measured, *others], key=itemgetter("cpu_ms"), reverse=True):
        of = " (`make bench`, last release)" if one is measured else ""
        lines.append(f"| {one['cpu_ms']} ms{of} | {one['by_processor']:,} | {one['in_model']:,} |")
    return "\n".join(lines)


def _stage(deployment: Figures) -> str:
    raised = [f"`{name}={value}`" for name, value in deployment["raised"].items()]
    warmth = "" if deployment["warm"] else ", cold"
    return f"`{deployment['stage']}`{warmth}" + (f", {_listed(raised)}" if raised else "")


def _head(heads: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _beside(milliseconds: int) -> str:
    return f"{'-' if milliseconds < 0 else ''}{_shown(abs(milliseconds))}"


def _shown(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1_000 else f"{milliseconds / 1_000:.1f} s"
