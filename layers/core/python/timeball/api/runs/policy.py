"""The model of answers about the retry policy."""

from pydantic import Field

from timeball.api.http.reply import AnswerModel
from timeball.domain.model.terms.policies import Jitter, RetryPolicy


class RetryPolicyAnswer(AnswerModel):
    """A retry policy: exponential backoff within all limits."""

    base_seconds: int = Field(description="The longest wait before the first retry in seconds.")
    factor: float = Field(description="The factor by which the longest wait grows with each retry.")
    max_seconds: int = Field(description="The bound of every wait in seconds.")
    jitter: Jitter = Field(description="`full`: a wait is random, up to the longest; `none`: it is the longest.")
    max_age_seconds: int | None = Field(
        description="The seconds after the fire time from which no retry begins; null: no bound."
    )
    retry_on: list[str] = Field(description="The failures that are retried: causes, statuses and classes of statuses.")


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
