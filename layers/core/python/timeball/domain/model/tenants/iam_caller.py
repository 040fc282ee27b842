"""AWS callers that sign their requests instead of sending an API key: a setting maps each to a tenant and a role.

An entry is `123456789012/role/billing=acme:submitter`; commas separate entries. No caller can have the role admin: only
a caller that holds an API key makes API keys.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.tenants.role import Role
from timeball.domain.model.tenants.tenant import TENANT_NAME

_NAME: Final = r"[A-Za-z0-9_+.@-]{1,64}"
_ENTRY: Final = re.compile(rf"(\d{{12}}/(?:role|user)/{_NAME})=({TENANT_NAME.pattern}):([a-z]+)", re.ASCII)
_ASSUMED: Final = re.compile(rf"arn:[a-z-]+:sts::(\d{{12}}):assumed-role/({_NAME})/[^/]+", re.ASCII)
_USER: Final = re.compile(rf"arn:[a-z-]+:iam::(\d{{12}}):user/(?:[!-~]+/)?({_NAME})", re.ASCII)


@dataclass(frozen=True)
class IamCaller:
    """The identity that a caller is mapped to."""

    tenant: str
    """The tenant."""
    role: Role
    """The role within the tenant."""


def parse_callers(text: str) -> Mapping[str, IamCaller]:
    """Return the callers that a setting maps, by their principals. Raises ValueError with the end of a sentence."""
    callers: dict[str, IamCaller] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = _ENTRY.fullmatch(entry)
        roles = [role.value for role in Role if role is not Role.ADMIN]
        if match is None or match[3] not in roles:
            raise ValueError(
                "must be entries such as 123456789012/role/billing=acme:submitter, separated by commas, each with one "
                f"of the roles {', '.join(roles)}"
            )
        if match[1] in callers:
            raise ValueError(f"must name {match[1]} once")
        callers[match[1]] = IamCaller(match[2], Role(match[3]))
    return callers


def principal_of(user_arn: str) -> str | None:
    """Return the principal of an ARN, as settings write it; None if the ARN is of no role and no user.

    `user_arn` is what API Gateway reports of the caller.
    """
    for kind, pattern in (("role", _ASSUMED), ("user", _USER)):
        match = pattern.fullmatch(user_arn)
        if match is not None:
            return f"{match[1]}/{kind}/{match[2]}"
    return None
