"""The expected state of a graph's jobs by docs/concepts/dependencies.md: written apart from the engine, to compare.

The reference knows no rows, no clock and no order of events. For each job it knows only how the job would end if it
ran.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SUCCEEDED, FAILED, CANCELLED, BLOCKED = "succeeded", "failed", "cancelled", "blocked"
RUNS, WAITS = "runs", "waits"
SKIPS = ("parent_skipped", "parent_cancelled", "rule_unmet")
_OVER = (SUCCEEDED, FAILED, CANCELLED, "skipped", *SKIPS)


@dataclass(frozen=True)
class Wish:
    """A job: the names of its parents, each with the end that counts as its success, and its trigger rule."""

    name: str
    parents: Sequence[tuple[str, str]]
    rule: str


def expected(wishes: Sequence[Wish], would_end: Mapping[str, str], facts: Mapping[str, str]) -> dict[str, str]:
    """Return how each job stands at rest: its end, or why it is skipped, or blocked.

    `wishes` come parents first. `facts` are ends that are already final, and are not decided again.
    """
    stands: dict[str, str] = {}
    for wish in wishes:
        if wish.name in facts:
            stands[wish.name] = facts[wish.name]
            continue
        fate = becomes(wish.rule, [(stands[parent], on) for parent, on in wish.parents]) if wish.parents else RUNS
        stands[wish.name] = would_end[wish.name] if fate == RUNS else fate
    return stands


def becomes(rule: str, parents: Sequence[tuple[str, str]]) -> str:
    """Return whether a job runs, waits or is blocked, or why it is skipped, from its parents' states."""
    ends = [_counted(stand, on) for stand, on in parents]
    undecided = WAITS if set(ends) - {*_OVER, BLOCKED} else BLOCKED if BLOCKED in ends else None
    skipped = "parent_cancelled" if CANCELLED in ends else "parent_skipped"
    if rule == "allDone":
        return undecided or RUNS
    if rule == "anyFailed":
        return RUNS if FAILED in ends else undecided or "rule_unmet"
    if rule == "anySucceeded" and SUCCEEDED in ends:
        return RUNS
    if rule == "allSucceeded" and all(end == SUCCEEDED for end in ends):
        return RUNS
    return undecided or (BLOCKED if FAILED in ends else skipped)


def _counted(stand: str, on: str) -> str:
    if on == "done" and stand in _OVER:
        return SUCCEEDED
    if on == "failed" and stand in (SUCCEEDED, FAILED):
        return SUCCEEDED if stand == FAILED else "parent_skipped"
    return stand
