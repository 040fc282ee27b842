"""Which resources of AWS targets may name: those of a list of ARNs, in which `*` and `?` stand for what IAM says.

The stack gives the executors their rights by the same list. Invariants: what is not on it is refused by the API, and by
IAM; what is Timeball's own is refused by the API, however much is listed. Who may hand its functions and queues what he
likes is every tenant, and every admin.
"""

import re
from dataclasses import dataclass

_PLACE = r"[a-z0-9*?-]{1,30}:[0-9*?]{1,12}"
"""A region and an account."""
_KINDS = (
    rf"(?:lambda:{_PLACE}:function:|sqs:{_PLACE}:|sns:{_PLACE}:|states:{_PLACE}:stateMachine:|events:{_PLACE}:event-bus/"
    rf"|ecs:{_PLACE}:(?:cluster|task-definition)/|iam::[0-9*?]{{1,12}}:role/)"
)
_ENTRY = re.compile(rf"arn:aws[a-z-]*:{_KINDS}[^\s,]{{1,500}}", re.ASCII)


@dataclass(frozen=True)
class AllowedArns:
    """A list of ARNs, and the name of the stack, with which the names of all that is its own begin."""

    entries: tuple[str, ...] = ()
    stack: str = ""

    def covers(self, arn: str) -> bool:
        """Say whether an ARN is on the list, and not Timeball's own."""
        return not self._is_own(arn) and any(_expression(entry).fullmatch(arn) for entry in self.entries)

    def _is_own(self, arn: str) -> bool:
        name = re.sub("^(function:|stateMachine:|event-bus/)", "", arn.split(":", 5)[5]).partition(":")[0]
        return bool(self.stack) and f"{name}-".startswith(f"{self.stack}-")


NONE_ALLOWED = AllowedArns()


def parse_arns(text: str, stack: str = "") -> AllowedArns:
    """Return a list of ARNs, with commas between, that a stack allows. Raises ValueError, with a sentence."""
    entries = tuple(filter(None, map(str.strip, text.split(","))))
    for entry in entries:
        if not _ENTRY.fullmatch(entry):
            raise ValueError(
                f"{entry[:200]!r} is no ARN of a function, a queue, a topic, a state machine, a bus, a cluster, a task "
                "definition or a role; write one such as arn:aws:lambda:eu-west-1:123456789012:function:reports-*"
            )
    return AllowedArns(entries, stack)


def _expression(entry: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in entry), re.ASCII)
