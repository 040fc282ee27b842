"""The route that tries a target."""

from functions.api.http.access import Access
from functions.api.http.problems import Problem
from functions.api.http.route import Route
from functions.api.targets.trying import TrialAnswer, TrialRequest, try_target

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
