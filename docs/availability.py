"""The tables of docs/concepts/availability.md: the cost of outages in a year, and the sum of AWS's agreements."""

# ruff: noqa: INP001 -- beside the documents that it generates

from dataclasses import dataclass
from math import prod

from tests.drills.drill import REPAIRED_SECONDS
from tests.drills.table import DRILLS

YEAR_MINUTES = 365.25 * 24 * 60
OBJECTIVE = 0.9999
RESPONSE_MINUTES = 15
"""Assumed: a person begins to mend so long after an alarm."""
MEND_MINUTES = 5
"""Assumed: a runbook's commands take so long."""


@dataclass(frozen=True)
class Outage:
    """A kind of outage: the drill that plays it, how often it is assumed, and the share of runs that it makes late."""

    drill: str
    a_year: float
    share: float = 1.0
    why: str = ""
    """What the assumption stands for."""


OUTAGES = (
    Outage("ticker-gone", 0.5, why="its rule is disabled, or a right is taken away"),
    Outage("executors-gone", 0.5, why="a mapping is disabled, or the account's concurrency is used up"),
    Outage("queues-unreachable", 0.5, why="a policy or a key is changed"),
    Outage("partition-gone", 0.5, share=0.5, why="one of two loops is stuck"),
    Outage("behind", 1, share=0.01, why="a few rows cannot be written"),
)
"""Outages that a person mends. The rates are assumptions: put in your own."""

AGREEMENTS = {"DynamoDB": 0.9999, "Lambda": 0.9995, "SQS": 0.999, "Step Functions": 0.999}
"""The monthly uptime of each service that a run needs, by AWS's service level agreements (one region)."""


def minutes_of(outage: Outage) -> float:
    """Return for how many minutes runs begin late in one such outage."""
    told = next(iter(DRILLS[outage.drill].alarms.values())) / 60
    return told + RESPONSE_MINUTES + MEND_MINUTES + REPAIRED_SECONDS / 60


def lost_a_year() -> float:
    """Return for how many minutes a year runs begin late, weighted by their share."""
    return sum(one.a_year * one.share * minutes_of(one) for one in OUTAGES)


def outages_as_markdown() -> str:
    """Render the outages that people mend, with their sum and the budget."""
    lines = [
        "| drill | its alarm, at most | until all runs are on time | a year | share of runs | minutes a year |",
        "|---|---|---|---|---|---|",
    ]
    for one in OUTAGES:
        alarm, seconds = next(iter(DRILLS[one.drill].alarms.items()))
        lines.append(
            f"| `{one.drill}`: {one.why} | `{alarm}` {seconds} s | {minutes_of(one):.1f} min | {one.a_year:g} | "
            f"{one.share:.0%} | {one.a_year * one.share * minutes_of(one):.1f} |"
        )
    budget = YEAR_MINUTES * (1 - OBJECTIVE)
    lines.append(f"| **together** | | | | | **{lost_a_year():.1f}** of {budget:.1f} |")
    return "\n".join(lines)


def agreements_as_markdown() -> str:
    """Render what AWS agrees to for each service that a run needs, and their product."""
    lines = ["| service | monthly uptime |", "|---|---|"]
    lines += [f"| {name} | {uptime:.2%} |" for name, uptime in AGREEMENTS.items()]
    together = prod(AGREEMENTS.values())
    hours = YEAR_MINUTES * (1 - together) / 60
    lines.append(f"| **together**, if they fail one at a time | **{together:.2%}**, {hours:.0f} hours a year |")
    return "\n".join(lines)
