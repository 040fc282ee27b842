"""The rules by which fire times are calculated, in answers."""

from pydantic import Field

from timeball.api.http.reply import AnswerModel
from timeball.domain.model.jobs.job import RuleSet


class RulesAnswer(AnswerModel):
    """The rules that fire times depend on besides the schedule."""

    version: int = Field(description="Grows when the same schedule may fire at other instants than before.")
    tzdata: str = Field(description="The release of the time zone database, such as `2026a`.")


def rules_answer(rules: RuleSet) -> RulesAnswer:
    """Return the answer about the rules of fire times."""
    return RulesAnswer(version=rules.version, tzdata=rules.tzdata)
