"""A change of a job is examined, and its parents are proposed, only as far as it may break a graph."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.dependencies.graphs import node
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.dependencies.parents import Adoption, adoption_of

ALONE, CHILD = node("job"), node("job", "a b")
PARENTS = CHILD.depends_on

# The job before the change, what the change makes of it, and what the change needs.
CHANGES: dict[str, tuple[Any, dict[str, Any], Adoption]] = {
    "a job without parents": (ALONE, {"schedule": Schedule(At(1))}, Adoption.NONE),
    "its parents stay": (CHILD, {"name": "other"}, Adoption.NONE),
    "a parent less": (CHILD, {"depends_on": PARENTS[:1]}, Adoption.NONE),
    "no parents any more, and it recurs": (
        CHILD,
        {"depends_on": (), "schedule": Schedule(Every(60, 0))},
        Adoption.NONE,
    ),
    "another fire time": (CHILD, {"schedule": Schedule(At(1))}, Adoption.EXAMINE),
    "its first parents": (ALONE, {"depends_on": PARENTS}, Adoption.PROPOSE),
    "a parent more": (replace(CHILD, depends_on=PARENTS[:1]), {"depends_on": PARENTS}, Adoption.PROPOSE),
    "the same parents, but in cycles": (CHILD, {"schedule": Schedule(Every(60, 0))}, Adoption.PROPOSE),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_costs_only_the_examination_that_it_needs(case: str) -> None:
    before, changes, needed = CHANGES[case]
    assert adoption_of(before, replace(before, **changes)) is needed
