"""Before a claim: may the run begin, by the quotas of its tenant? A tenant that has no such quota costs nothing.

① read the rows of the tenants ② if there is no place for all: read who may be under way ③ swap the rows: who begins is
named there before its claim is written. A process that dies behind ③ keeps a place until its lease would be out.
"""

import logging
from collections.abc import Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId, fraction_of
from timeball.domain.model.run import Run
from timeball.domain.policy.circuit_breaker import Admission
from timeball.domain.policy.pace import Pace, admit, asked_by, is_bound, is_to_be_looked_at, looked_at
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.exclusions.read import read_quotas
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_CONTENDED_MS = 800
"""How long, at most, who was never the first to write waits before it asks again."""


def pass_quotas(context: Context, starting: Sequence[Run], now: int) -> dict[RunId, Admission]:
    """Say of each run whose tenant's quotas bound what begins whether it may; it is then named as one that does.

    One for which nobody can tell waits as it is, for no reason.
    Raises UnavailableError only if the quotas cannot be read.
    """
    quotas = read_quotas(context, list(dict.fromkeys(run.id.job.tenant for run in starting)))
    runs = [run for run in starting if is_bound(quotas[run.id.job.tenant])]
    admissions: dict[RunId, Admission] = {}
    if not runs:
        return admissions

    def with_those(_: int, pace: Pace) -> Pace:
        own, of_tenant = [run for run in runs if run.id.job.tenant == pace.tenant], quotas[pace.tenant]
        if is_to_be_looked_at(pace, of_tenant, len(own), now):
            named = [one.run for one in pace.begun]
            pace = looked_at(pace, dict(zip(named, context.store.runs.read(named), strict=True)), now)
        for run in own:
            pace, admissions[run.id] = admit(pace, run, of_tenant, now, context.rules.lease_ms)
        return evolve(pace, asked=asked_by(own))

    try:
        rows = _rows(context, list(dict.fromkeys(run.id.job.tenant for run in runs)), now)
        swapped = compare_and_swap(context.store.paces.swap, rows, with_those, now)
    except UnavailableError as unavailable:
        log.warning("quotas not asked for: %s", unavailable)
        return {run.id: Admission(until=now + context.rules.margin_ms) for run in runs}
    passed = {row.tenant for row, one in zip(rows, swapped, strict=True) if one.done}
    again_ms = 1 + int(fraction_of("contended", asked_by(runs), now) * _CONTENDED_MS)
    contended = Admission(until=now + again_ms)
    return {one: admission if one.job.tenant in passed else contended for one, admission in admissions.items()}


def _rows(context: Context, tenants: Sequence[str], now: int) -> list[Pace]:
    """Read the row of each tenant; one that has none yet gets its first."""
    stored = context.store.paces.read(tenants)
    new = [Pace(tenant) for tenant, row in zip(tenants, stored, strict=True) if row is None]
    inserted = context.store.paces.insert(new, now) if new else []
    return [row for row in stored if row] + [found or row for row, found in zip(new, inserted, strict=True)]
