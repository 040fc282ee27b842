"""The route that tries a target."""

from timeball.api.http.access import Access
from timeball.api.http.problems import Problem
from timeball.api.http.route import Route
from timeball.api.targets.trying import TrialAnswer, TrialRequest, try_target

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/targets:test",
        try_target,
        "Call a target once, now, and show the request, the answer and the timings; nothing is stored",
        TrialAnswer,
        body=TrialRequest,
        problems=(Problem.QUOTA_EXCEEDED,),
        access=Access.OPERATE,
    ),
)
