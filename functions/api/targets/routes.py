"""The route by which a target is tried."""

from functions.api.http.access import Access
from functions.api.http.problems import Problem
from functions.api.http.route import Route
from functions.api.targets.trying import TrialAnswer, TrialRequest, try_target

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/targets:test",
        try_target,
        "Call a target once, now, and show what was sent, what came back and how long it took; nothing is stored",
        TrialAnswer,
        body=TrialRequest,
        problems=(Problem.QUOTA_EXCEEDED,),
        access=Access.OPERATE,
    ),
)
