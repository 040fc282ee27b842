"""Why a caller without a tenant is refused: each refusal is a documented problem."""

from collections.abc import Callable

from timeball.api.http.problems import Problem, ProblemError, over_quota


def denied(found: Callable[[str], str | None], *, has_sent: bool) -> ProblemError:
    """Return the problem for a caller without a tenant, from what the authorizer found.

    `found` returns a value of the authorizer by its name. `has_sent` says that the request has an Authorization header.
    """
    if principal := found("principal"):
        return ProblemError(
            Problem.FORBIDDEN, f"{principal} is mapped to no tenant; see the setting timeball:iam_callers."
        )
    if per_second := found("throttled"):
        sentence = (
            f"The keys of your tenant may make {per_second} requests a second; repeat this request a second later."
        )
        return over_quota("requestsPerSecond", sentence, 1)
    sentence = "Send an API key: `Authorization: Bearer tb_...`."
    if has_sent:
        sentence = "This API key is not valid; check it, or ask for a new one."
    challenge = 'Bearer error="invalid_token"' if has_sent else "Bearer"
    return ProblemError(Problem.UNAUTHENTICATED, sentence, headers={"WWW-Authenticate": challenge})
