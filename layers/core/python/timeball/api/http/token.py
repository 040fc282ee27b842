"""An attempt's token replaces a key where the target reports on that attempt, and nowhere else."""

from collections.abc import Mapping, Sequence

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import Problem, ProblemError
from timeball.api.http.request import Request
from timeball.api.http.route import Route
from timeball.domain.attempts.callback_token import read_token
from timeball.domain.model.ids import RunId
from timeball.domain.model.tenants.key import Role


def identity_by_token(
    edge: ApiContext, routes: Sequence[Route], path: str, headers: Mapping[str, str]
) -> Mapping[str, str] | None:
    """Return a worker's identity, as the authorizer would, if the request carries the token of its path's attempt.

    None for any other request, whatever it carries.
    """
    scheme, _, text = headers.get("authorization", "").partition(" ")
    token = read_token(text.strip()) if scheme.lower() == "bearer" else None
    names = [match["runId"] for route in routes if (match := _reported(route, path))]
    if token is None or not names or edge.signing_secrets is None:
        return None
    run = RunId.parse(token.tenant, names[0])
    if run is None or not token.is_of(run, edge.signing_secrets()):
        return None
    return {"tenant": token.tenant, "role": Role.WORKER, "attempt": str(token.attempt)}


def check_attempt(request: Request, attempt: int) -> None:
    """Raise ProblemError if a token reports on an attempt that is not its own."""
    if request.attempt not in (None, attempt):
        raise ProblemError(
            Problem.FORBIDDEN, f"This token belongs to attempt {request.attempt}; each attempt reports with its own."
        )


def _reported(route: Route, path: str) -> "Mapping[str, str] | None":
    """Return the ids in a path on which a worker reports; None if no such route matches."""
    return route.ids_in(path) if route.access is Access.REPORT else None
