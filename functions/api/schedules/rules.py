"""The rules that fire times follow, as an answer tells them."""

from pydantic import Field

from functions.api.http.reply import Answer
from timeball.domain.model.jobs.job import RuleSet


class RulesAnswer(Answer):
    """What fire times depend on besides the schedule."""

    version: int = Field(description="Raised when the same schedule may give other instants than before.")
    tzdata: str = Field(description="The release of the time zone database: `2026a`.")


def rules_answer(rules: RuleSet) -> RulesAnswer:
    """Return the answer about the rules that fire times follow."""
    return RulesAnswer(version=rules.version, tzdata=rules.tzdata)
