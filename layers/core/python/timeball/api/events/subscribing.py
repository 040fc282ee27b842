"""Make rules on the bus for the patterns of jobs, and remove the rules of patterns that no job uses."""

import logging
from collections.abc import Sequence
from typing import Final

from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import FieldError, ProblemError, invalid, over_quota
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.planning.ledger import subscription_of
from timeball.engine.events.subscribe import Unheard, retire_unneeded, subscribe, unsubscribe
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

QUOTA: Final = "eventPatterns"

_LATER_SECONDS: Final = 60
"""How many seconds after a pattern was given up it no longer counts."""


def unheard(edge: ApiContext, specs: Sequence[JobSpec], now: int) -> dict[JobKey, ProblemError]:
    """Make rules for the patterns of jobs; return the problems of those that have none.

    Check quotas of jobs before: a job that exceeds one must get no rule.
    """
    if not any(spec.event for spec in specs):
        return {}
    return {key: _problem(one) for key, one in subscribe(edge.context, edge.events, specs, now).items()}


def _problem(one: Unheard) -> ProblemError:
    if one.is_over_quota:
        return over_quota(QUOTA, one.why, _LATER_SECONDS)
    return invalid([FieldError("event", one.why)])


def give_rules_back(edge: ApiContext, specs: Sequence[JobSpec], now: int) -> None:
    """Undo what `unheard` did at an instant (ms), for jobs that do not get their patterns after all."""
    specs = [spec for spec in specs if spec.event]
    if not specs:
        return
    try:
        unsubscribe(edge.context, edge.events, specs, now)
    except UnavailableError as unavailable:
        log.warning("rules that no job needs may be left: %s", unavailable)


def let_go(edge: ApiContext, spec: JobSpec) -> None:
    """Remove the rule of a job's former pattern if no other job needs it; if this fails, a later event removes it."""
    key = subscription_of(spec)
    if key is None:
        return
    try:
        retire_unneeded(edge.context, edge.events, [key])
    except UnavailableError as unavailable:
        log.warning("a rule that no job needs may be left: %s", unavailable)
