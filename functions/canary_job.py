"""The canary's job: CloudFormation requests it with the stack, and it is made, changed or cancelled."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from functions.custom_resources import answered, when_ready
from timeball.aws.request_retries import Timed, in_time
from timeball.engine.changes.canary import JOB_ID, begin_canary, canary_spec, end_canary
from timeball.runtime.wiring import engine_context, environment

log = logging.getLogger()
log.setLevel(logging.INFO)

_FAILED: Final = "The canary's job was not made"


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> None:  # noqa: ARG001 - in_time asks it
    """Make or change the job; cancel it with its resource. A job that cannot be cancelled does not keep a stack."""
    asked, tenant = event["ResourceProperties"], environment().settings.operating_tenant

    def act() -> None:
        if event["RequestType"] != "Delete":
            spec = canary_spec(tenant, int(asked["seconds"]), asked["function"])
            when_ready(lambda: begin_canary(engine_context(), spec))
            return
        try:
            end_canary(engine_context(), tenant)
        except Exception:
            log.exception("the canary is not cancelled; its calls fail")

    answered(event, JOB_ID, _FAILED, act)
