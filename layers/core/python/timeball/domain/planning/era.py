"""Eras: which settings, rules and time zone data planned the fires of a time.

Invariant: a scan plans only once its era is stored. A new era begins with each deployment that differs from the one
before in anything that a plan depends on beside users' changes. Eras are kept for good.
"""

from dataclasses import dataclass, field

from timeball.domain.model.jobs.job import RuleSet
from timeball.domain.planning.planner import PLANNER_VERSION

DEPLOYMENT = "deployment"
"""The owner of all eras."""


@dataclass(frozen=True)
class Era:
    """The settings and rules by which plans were made from an instant on."""

    begins_at: int
    """When the first process of the era started (ms)."""
    misfire_ms: int
    """How late a fire could start without being missed."""
    lookahead_ms: int
    """How far ahead fires were planned."""
    planner: int = PLANNER_VERSION
    """The version of the planner, with its policies for missed fires."""
    rules: RuleSet = field(default_factory=RuleSet)
    """The version of the stepper's rules, and the release of the time zone data."""

    @property
    def digest(self) -> str:
        """A text that is the same for eras in which plans are the same."""
        return f"{self.misfire_ms}-{self.lookahead_ms}-{self.planner}-{self.rules.version}-{self.rules.tzdata}"

    @property
    def order(self) -> tuple[int, str]:
        """Its position among the eras."""
        return self.begins_at, self.digest
