"""Which roles may use a route. `refusal` alone decides; app.py asks it before any operation.

Invariant: every route declares its access, and a role that is not listed here may do nothing.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from timeball.domain.model.tenants.key import Role


class Access(Enum):
    """What a route requires of its caller."""

    PUBLIC = auto()
    """Nothing, not even a key."""
    READ = auto()
    """To read; nothing is changed."""
    SUBMIT = auto()
    """To create and change jobs."""
    OPERATE = auto()
    """To intervene in runs, dead letters and backfills, and to manage what jobs share."""
    REPORT = auto()
    """To report, as its target, how an attempt proceeds or ended."""
    ADMINISTER = auto()
    """To read one's own tenant and manage its keys."""
    ADMINISTER_ALL = auto()
    """To manage tenants: only for an admin of the operating tenant."""


_LEAST: Final[Mapping[Access, Role]] = {
    Access.READ: Role.VIEWER,
    Access.SUBMIT: Role.SUBMITTER,
    Access.OPERATE: Role.OPERATOR,
    Access.REPORT: Role.WORKER,
    Access.ADMINISTER: Role.ADMIN,
    Access.ADMINISTER_ALL: Role.ADMIN,
}
"""The least role that has each access; roles that include this role have the access too."""


def roles_for(access: Access) -> tuple[Role, ...]:
    """Return the roles that have an access, the least role first; empty if no key is needed."""
    least = _LEAST.get(access)
    return () if least is None else tuple(role for role in reversed(Role) if role.includes(least))


def refusal(access: Access, role: str | None, *, is_operating: bool) -> str | None:
    """Return why a role may not have an access, in one sentence; None if it may.

    `is_operating` says that the role is one in the operating tenant.
    """
    if access is Access.PUBLIC:
        return None
    needed = roles_for(access)
    if role not in needed:
        return f"This needs a key with the role {either(needed)}; yours has the role {role or 'none'}."
    if access is Access.ADMINISTER_ALL and not is_operating:
        return (
            "This needs a key with the role admin in the tenant that operates this Timeball; yours belongs to another."
        )
    return None


def either(roles: tuple[Role, ...]) -> str:
    """Return the names of roles as a phrase, such as "operator or admin"."""
    *others, last = roles
    return f"{', '.join(others)} or {last}" if others else last
