"""The routes of freezes."""

from timeball.api.freezes.answers import FreezeAnswer, FreezePageAnswer
from timeball.api.freezes.operations import (
    FREEZE_PARAMETERS,
    lift_a_freeze,
    list_freezes,
    post_freeze,
    read_a_freeze,
)
from timeball.api.freezes.request import FreezeRequest
from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/freezes",
        post_freeze,
        "Freeze jobs: their fires do not start for a time, or until the freeze is lifted",
        FreezeAnswer,
        status=201,
        body=FreezeRequest,
        headers=("Idempotency-Key",),
        problems=(Problem.TOO_MANY_FREEZES, Problem.IDEMPOTENCY_CONFLICT),
        access=Access.OPERATE,
    ),
    Route(
        "GET",
        "/v1/freezes",
        list_freezes,
        "List the freezes that have not ended, the newest first",
        FreezePageAnswer,
        query=FREEZE_PARAMETERS,
        access=Access.READ,
    ),
    Route("GET", "/v1/freezes/{freezeId}", read_a_freeze, "Read a freeze", FreezeAnswer, access=Access.READ),
    Route("DELETE", "/v1/freezes/{freezeId}", lift_a_freeze, "Lift a freeze", FreezeAnswer, access=Access.OPERATE),
)
