"""What the API answers about the policy by which attempts are tried again."""

from pydantic import Field

from functions.api.http.reply import Answer
from timeball.domain.model.terms.policies import Jitter, RetryPolicy


class RetryPolicyAnswer(Answer):
    """How a failed attempt is tried again."""

    base_seconds: int
    factor: float
    max_seconds: int
    jitter: Jitter
    max_age_seconds: int | None
    retry_on: list[str] = Field(description="What is worth another try: causes, statuses and classes of them.")


def retry_policy_answer(policy: RetryPolicy) -> RetryPolicyAnswer:
    """Return the answer about a retry policy."""
    return RetryPolicyAnswer(
        base_seconds=policy.base_seconds,
        factor=policy.factor,
        max_seconds=policy.max_seconds,
        jitter=policy.jitter,
        max_age_seconds=policy.max_age_seconds,
        retry_on=[str(cause) for cause in policy.retry_on],
    )
