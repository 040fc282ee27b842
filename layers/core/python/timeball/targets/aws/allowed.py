"""Which resources of AWS a tenant's targets may name, and how large their payloads may be.

The resources are those of a list of ARNs, where `*` and `?` mean what IAM says. An entry may name the tenants that it
is for (`…:jobs=acme+globex`); without tenants it is for all. The stack grants the executors their rights by the same
list, but IAM knows executors and no tenants. Invariants: the API, and the executor at each call, refuse an ARN that is
not on the list for a tenant; they also refuse Timeball's own resources, whatever is listed, because a caller that may
send anything to Timeball's functions and queues has the rights of every tenant and admin. One function is no exception
in that sense: the canary's has no rights, and ignores calls that are not of its own job.

A payload may be as large as AWS allows, minus the facts of the run. There is no bound here where AWS's is above the
bound of all payloads.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.tenants.tenant import TENANT_NAME
from timeball.domain.model.terms.target import AwsTarget, Target, TargetType, arns_of

_REGION_AND_ACCOUNT: Final = r"[a-z0-9*?-]{1,30}:[0-9*?]{1,12}"
"""A region and an account."""
_KINDS: Final = (
    rf"(?:lambda:{_REGION_AND_ACCOUNT}:function:|sqs:{_REGION_AND_ACCOUNT}:|sns:{_REGION_AND_ACCOUNT}:|states:{_REGION_AND_ACCOUNT}:stateMachine:|events:{_REGION_AND_ACCOUNT}:event-bus/"
    rf"|ecs:{_REGION_AND_ACCOUNT}:(?:cluster|task-definition)/|ec2:{_REGION_AND_ACCOUNT}:(?:subnet|security-group)/)"
)
_TENANTS: Final = rf"{TENANT_NAME.pattern}(?:\+{TENANT_NAME.pattern})*"
_ENTRY: Final = re.compile(rf"(arn:aws[a-z-]*:{_KINDS}[^\s,=]{{1,500}})(?:=({_TENANTS}))?", re.ASCII)
_ROLE: Final = re.compile(r"(arn:aws[a-z-]*:iam::[0-9*?]{1,12}:role/[^\s,]{1,500})()", re.ASCII)
"""The name of a role may contain an equals sign, and no target names a role."""


@dataclass(frozen=True)
class AllowedArn:
    """A listed ARN, and the tenants that it is for; none: all."""

    arn: str
    tenants: frozenset[str] = frozenset()

    def covers(self, arn: str, tenant: str) -> bool:
        """Return whether it lists an ARN for a tenant."""
        return (not self.tenants or tenant in self.tenants) and bool(_expression(self.arn).fullmatch(arn))


@dataclass(frozen=True)
class AllowedArns:
    """A list of entries, and the name of the stack, which is the prefix of its own resources' names."""

    entries: tuple[AllowedArn, ...] = ()
    stack: str = ""

    @property
    def arns(self) -> tuple[str, ...]:
        """Return the listed ARNs, for any tenant."""
        return tuple(entry.arn for entry in self.entries)

    def closed(self, target: AwsTarget, tenant: str) -> list[str]:
        """Return the fields of a tenant's target that name resources which it may not use."""
        named = arns_of(target)
        return [field for field, arns in named.items() if not all(self.covers(arn, tenant) for arn in arns)]

    def covers(self, arn: str, tenant: str) -> bool:
        """Return whether an ARN is on the list for a tenant, and is not Timeball's own."""
        return not self._is_own(arn) and any(entry.covers(arn, tenant) for entry in self.entries)

    def _is_own(self, arn: str) -> bool:
        name = re.sub("^(function:|stateMachine:|event-bus/)", "", arn.split(":", 5)[5]).partition(":")[0]
        return bool(self.stack) and f"{name}-".startswith(f"{self.stack}-") and name != f"{self.stack}-canary"


NONE_ALLOWED: Final = AllowedArns()


def parse_arns(text: str, stack: str = "") -> AllowedArns:
    """Parse a comma-separated list of entries that a stack allows. Raises ValueError, with a sentence."""
    return AllowedArns(tuple(map(_entry, filter(None, map(str.strip, text.split(","))))), stack)


def _entry(text: str) -> AllowedArn:
    found = _ENTRY.fullmatch(text) or _ROLE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text[:200]!r} is no ARN of a function, a queue, a topic, a state machine, a bus, a cluster, a task "
            "definition, a subnet, a security group or a role; write one such as "
            "arn:aws:lambda:eu-west-1:123456789012:function:reports-*, followed by =acme+globex if it is for these "
            "tenants only"
        )
    arn, tenants = found.groups()
    return AllowedArn(arn, frozenset(tenants.split("+") if tenants else ()))


def _expression(entry: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in entry), re.ASCII)


_FACTS_BYTES: Final = 2048
"""Room for the facts of a run, however long its id: with names and quotes they have some 800 bytes."""

_MOST_BYTES: Final[Mapping[TargetType, int]] = {
    TargetType.SQS: 1024 * 1024,
    TargetType.SNS: 256 * 1024,
    TargetType.STEP_FUNCTIONS: 256 * 1024,
    TargetType.EVENT_BRIDGE: 256 * 1024,
    TargetType.ECS: 8192,
}
"""AWS's limits. Lambda takes 6 MB, and 1 MB as an event."""


def fits_all(payload: str) -> bool:
    """Return whether a payload (JSON text) is small enough for any target."""
    return len(json.dumps(payload)) <= min(_MOST_BYTES.values()) - _FACTS_BYTES


def too_large(target: Target, payload: str | None) -> str | None:
    """Return a sentence if a payload (JSON text) is too large for a target; None if it is not."""
    most = _MOST_BYTES.get(target.type)
    if payload is None or most is None:
        return None
    # ECS counts the characters of the overrides as JSON, in which a payload is a string.
    size = len(json.dumps(payload)) if target.type is TargetType.ECS else len(payload.encode())
    if size <= most - _FACTS_BYTES:
        return None
    return f"For a target of the type {target.type} this is too large: {size} bytes of {most - _FACTS_BYTES}."
