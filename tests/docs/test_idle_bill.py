"""The README's bill of an idle month has every line of the computed one."""

import re

from bench.bill import Item, idle_month, whole_month
from tests.docs.readme import ROOT, read

_READ_UNITS, _CPU_MS = 2.525, 0.9
"""The figures of an idle scan, as `make bench` measures them."""


def _in_all(what: str, dollars: float) -> tuple[str, str, str]:
    return f"**{what}**", "", f"**{dollars:.2f}**"


def test_the_readme_has_each_line_of_the_computed_bill_of_an_idle_month() -> None:
    (table,) = re.findall(
        r"<!-- idle -->\n\| \| quantity \| \$ \|\n\|---\|---\|---\|\n((?:\|.*\|\n)+)", read(ROOT / "README.md")
    )
    stated = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in table.splitlines()]
    idle = [item for item in idle_month(_READ_UNITS, _CPU_MS) if item.dollars]
    added = [*whole_month(_READ_UNITS, _CPU_MS)][len(idle) :]

    def lines(items: list[Item]) -> list[tuple[str, str, str]]:
        return [(item.what, item.quantity, f"{item.dollars:.2f}") for item in items]

    least, most = (sum(item.dollars for item in items) for items in (idle, [*idle, *added]))
    expected = [*lines(idle), _in_all("in all", least), *lines(added), _in_all("with everything added", most)]
    assert stated == expected
    assert least <= 6
    assert most <= 16


def test_the_readme_says_what_an_idle_month_without_metrics_costs() -> None:
    least = sum(item.dollars for item in idle_month(_READ_UNITS, _CPU_MS, metrics=0))
    assert f"${least:.2f}." in read(ROOT / "README.md")
    assert least < 6
