"""Why a caller without a tenant is refused: each refusal is a documented problem, whatever the authorizer found."""

from collections.abc import Callable

from functions.api.http.problems import Problem, ProblemError, over_quota


def denied(found: Callable[[str], str | None], *, has_sent: bool) -> ProblemError:
    """Return the problem of a caller without a tenant, by what the authorizer found; `has_sent` some authorization."""
    if principal := found("principal"):
        return ProblemError(
            Problem.FORBIDDEN, f"{principal} is mapped to no tenant; the setting timeball:iam_callers says who is."
        )
    if per_second := found("throttled"):
        sentence = f"The keys of your tenant may make {per_second} requests a second; send this again a second later."
        return over_quota("requestsPerSecond", sentence, 1)
    sentence = "Send an API key: `Authorization: Bearer tb_...`."
    if has_sent:
        sentence = "This API key is not valid; check it, or ask for a new one."
    challenge = 'Bearer error="invalid_token"' if has_sent else "Bearer"
    return ProblemError(Problem.UNAUTHENTICATED, sentence, headers={"WWW-Authenticate": challenge})
