"""The drills, by the names under which `make drill NAME=…` plays them."""

from collections.abc import Mapping

from tests.drills import deploys, load, parts
from tests.drills.drill import Drill
from tests.drills.releases import RELEASE_DRILLS

DRILLS: Mapping[str, Drill] = {one.name: one for one in (*parts.DRILLS, *load.DRILLS, *deploys.DRILLS)}
"""All drills."""


def drills_as_markdown() -> str:
    """Return the table of drills for docs/reference/drills.md."""
    lines = [
        "| drill | what is broken | alarms, and within how many seconds | what else must hold |",
        "|---|---|---|---|",
    ]
    for one in DRILLS.values():
        alarms = ", ".join(f"`{name}` {seconds:,} s" for name, seconds in one.alarms.items()) or "none"
        lines.append(f"| `{one.name}` | {one.trouble} | {alarms} | {one.holds} |")
    lines += [f"| `{name}` | {one.trouble} | none | {one.holds} |" for name, one in RELEASE_DRILLS.items()]
    return "\n".join(lines)
