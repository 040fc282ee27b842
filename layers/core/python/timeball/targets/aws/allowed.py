"""Which resources of AWS targets may name: those of a list of ARNs, in which `*` and `?` stand for what IAM says.

The stack gives the executors their rights by the same list. Invariant: what is not on it is refused by the API, and by
IAM.
"""

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"arn:aws[a-z-]*:(lambda|sqs|sns|states|events|ecs|iam):[^\s,]{1,500}", re.ASCII)


@dataclass(frozen=True)
class AllowedArns:
    """A list of ARNs."""

    entries: tuple[str, ...] = ()

    def covers(self, arn: str) -> bool:
        """Say whether an ARN is on the list."""
        return any(_expression(entry).fullmatch(arn) for entry in self.entries)


NONE_ALLOWED = AllowedArns()


def parse_arns(text: str) -> AllowedArns:
    """Return a comma-separated list of ARNs. Raises ValueError, with a sentence, for what is none."""
    entries = tuple(filter(None, map(str.strip, text.split(","))))
    for entry in entries:
        if not _ENTRY.fullmatch(entry):
            raise ValueError(
                f"{entry[:200]!r} is no ARN of lambda, sqs, sns, states, events, ecs or iam; write one such as "
                "arn:aws:lambda:eu-west-1:123456789012:function:reports-*"
            )
    return AllowedArns(entries)


def _expression(entry: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in entry), re.ASCII)
