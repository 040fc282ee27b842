"""The canary's function: the target of a built-in job, which records how late each run comes."""

import logging
from collections.abc import Mapping
from typing import Any

from timeball.aws.request_retries import Timed, in_time
from timeball.engine.changes.canary import note_canary
from timeball.runtime.wiring import engine_context, environment
from timeball.targets.envelope import MEMBER

log = logging.getLogger()
log.setLevel(logging.INFO)


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Record the run that an event brings. It asks AWS for nothing."""
    is_canary = note_canary(engine_context(), environment().settings.operating_tenant, event.get(MEMBER, {}))
    if not is_canary:
        log.warning("a call of another job was ignored")
    return {"recorded": is_canary}
