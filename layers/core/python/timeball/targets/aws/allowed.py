"""Which resources of AWS a tenant's targets may name: those of a list of ARNs, where `*` and `?` mean what IAM says.

An entry may name the tenants that it is for (`…:jobs=acme+globex`); without any it is for all. The stack gives the
executors their rights by the same list, but IAM knows executors and no tenants. Invariants: what is not on the list for
a tenant is refused by the API, and by the executor at each call; what is Timeball's own is refused there too, however
much is listed. Who may hand its functions and queues what he likes is every tenant, and every admin.
"""

import re
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.tenants.tenant import TENANT_NAME
from timeball.domain.model.terms.target import AwsTarget, arns_of

_PLACE: Final = r"[a-z0-9*?-]{1,30}:[0-9*?]{1,12}"
"""A region and an account."""
_KINDS: Final = (
    rf"(?:lambda:{_PLACE}:function:|sqs:{_PLACE}:|sns:{_PLACE}:|states:{_PLACE}:stateMachine:|events:{_PLACE}:event-bus/"
    rf"|ecs:{_PLACE}:(?:cluster|task-definition)/|ec2:{_PLACE}:(?:subnet|security-group)/)"
)
_TENANTS: Final = rf"{TENANT_NAME.pattern}(?:\+{TENANT_NAME.pattern})*"
_ENTRY: Final = re.compile(rf"(arn:aws[a-z-]*:{_KINDS}[^\s,=]{{1,500}})(?:=({_TENANTS}))?", re.ASCII)
_ROLE: Final = re.compile(r"(arn:aws[a-z-]*:iam::[0-9*?]{1,12}:role/[^\s,]{1,500})()", re.ASCII)
"""Its name may have an equals sign in it, and no target names it."""


@dataclass(frozen=True)
class Entry:
    """An ARN that is listed, and the tenants that it is for; none: all."""

    arn: str
    tenants: frozenset[str] = frozenset()

    def covers(self, arn: str, tenant: str) -> bool:
        """Say whether it lists an ARN for a tenant."""
        return (not self.tenants or tenant in self.tenants) and bool(_expression(self.arn).fullmatch(arn))


@dataclass(frozen=True)
class AllowedArns:
    """A list of entries, and the name of the stack, with which the names of all that is its own begin."""

    entries: tuple[Entry, ...] = ()
    stack: str = ""

    @property
    def arns(self) -> tuple[str, ...]:
        """The ARNs that are listed, whatever tenants they are for."""
        return tuple(entry.arn for entry in self.entries)

    def closed(self, target: AwsTarget, tenant: str) -> list[str]:
        """Return the fields of a tenant's target that name what it may not use."""
        named = arns_of(target)
        return [field for field, arns in named.items() if not all(self.covers(arn, tenant) for arn in arns)]

    def covers(self, arn: str, tenant: str) -> bool:
        """Say whether an ARN is on the list for a tenant, and not Timeball's own."""
        return not self._is_own(arn) and any(entry.covers(arn, tenant) for entry in self.entries)

    def _is_own(self, arn: str) -> bool:
        name = re.sub("^(function:|stateMachine:|event-bus/)", "", arn.split(":", 5)[5]).partition(":")[0]
        return bool(self.stack) and f"{name}-".startswith(f"{self.stack}-")


NONE_ALLOWED: Final = AllowedArns()


def parse_arns(text: str, stack: str = "") -> AllowedArns:
    """Return a list of entries, with commas between, that a stack allows. Raises ValueError, with a sentence."""
    return AllowedArns(tuple(map(_entry, filter(None, map(str.strip, text.split(","))))), stack)


def _entry(text: str) -> Entry:
    found = _ENTRY.fullmatch(text) or _ROLE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text[:200]!r} is no ARN of a function, a queue, a topic, a state machine, a bus, a cluster, a task "
            "definition, a subnet, a security group or a role; write one such as "
            "arn:aws:lambda:eu-west-1:123456789012:function:reports-*, and =acme+globex behind it if it is for these "
            "tenants alone"
        )
    arn, tenants = found.groups()
    return Entry(arn, frozenset(tenants.split("+") if tenants else ()))


def _expression(entry: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in entry), re.ASCII)
