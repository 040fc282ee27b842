"""The canary: a job of the deployment's own that goes the whole way, from the scan to a function of the deployment.

Its function records how late each run comes. The deployment makes the job, changes it, and ends it; as a job of the
operating tenant it has a ledger, and its admins see it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import LambdaTarget
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.changes.change import cancel, renew, resume, revise
from timeball.engine.context import Context
from timeball.engine.metrics import canary_came
from timeball.engine.scheduling.submit import submit

JOB_ID: Final = "timeball-canary"

_TIMEOUT_SECONDS: Final = 30


def canary_spec(tenant: str, every_seconds: int, function_arn: str) -> JobSpec:
    """Return the canary of a deployment: on whole multiples of its interval, tried once.

    After an outage the latest run is caught up at once, so that its arrival says that the outage is over.
    """
    return JobSpec(
        JobKey(tenant, JOB_ID),
        Schedule(Every(every_seconds, 0)),
        Work(LambdaTarget(function_arn), json.dumps({})),
        name="Timeball's canary",
        retry=RetryPolicy(max_retries=0),
        timeout_seconds=_TIMEOUT_SECONDS,
        catch_up=CatchUp(CatchUpPolicy.LATEST),
    )


def begin_canary(context: Context, spec: JobSpec) -> None:
    """Make the canary, or change it; a cancelled or paused canary begins again. Raises UnavailableError."""
    (standing,) = context.store.jobs.read([spec.key], with_work=True)
    if standing is None:
        submit(context, [spec], context.clock.now())
    elif standing.is_open:
        revise(context, [(standing, spec)])
        resume(context, [(spec.key, None)])
    else:
        renew(context, [(standing, spec)], context.clock.now())


def end_canary(context: Context, tenant: str) -> None:
    """Cancel the canary, if there is one. Raises UnavailableError."""
    cancel(context, [(JobKey(tenant, JOB_ID), None)])


def note_canary(context: Context, tenant: str, facts: Mapping[str, Any]) -> bool:
    """Record the arrival of a run of the canary, by the facts of its call; False: they are of another job."""
    if (facts.get("tenant"), facts.get("jobId")) != (tenant, JOB_ID):
        return False
    canary_came(context, abs(context.clock.now() - parse_instant(facts["fireTime"])))
    return True
