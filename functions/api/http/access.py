"""Who may use a route: the roles that each declares. `refusal` alone decides; app.py asks it before any operation.

Invariant: a route cannot be declared without its access, and a role that is not listed here may do nothing.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from timeball.domain.model.tenants.role import Role


class Access(Enum):
    """What a request asks of whoever makes it."""

    PUBLIC = auto()
    """Nothing: not even a key."""
    READ = auto()
    """To see what is there; nothing is changed."""
    SUBMIT = auto()
    """To make jobs, and to change those."""
    OPERATE = auto()
    """To intervene: in runs, dead letters, backfills, and what jobs share."""
    REPORT = auto()
    """To say how an attempt goes on or ended, as its target."""
    ADMINISTER = auto()
    """To see one's tenant, and to manage its keys."""
    ADMINISTER_ALL = auto()
    """To manage tenants: an admin of the operating tenant alone."""


_LEAST: Final[Mapping[Access, Role]] = {
    Access.READ: Role.VIEWER,
    Access.SUBMIT: Role.SUBMITTER,
    Access.OPERATE: Role.OPERATOR,
    Access.REPORT: Role.WORKER,
    Access.ADMINISTER: Role.ADMIN,
    Access.ADMINISTER_ALL: Role.ADMIN,
}
"""The least role that has each access; the roles that include it have it too."""


def roles_for(access: Access) -> tuple[Role, ...]:
    """Return the roles that have an access, the least first; none where no key is needed."""
    least = _LEAST.get(access)
    return () if least is None else tuple(role for role in reversed(Role) if role.includes(least))


def refusal(access: Access, role: str | None, *, is_operating: bool) -> str | None:
    """Return why a role may not have an access, in one sentence; None: it may.

    `is_operating`: it is a role in the operating tenant.
    """
    if access is Access.PUBLIC:
        return None
    needed = roles_for(access)
    if role not in needed:
        return f"This needs a key with the role {either(needed)}; yours has the role {role or 'none'}."
    if access is Access.ADMINISTER_ALL and not is_operating:
        return "This needs a key with the role admin in the tenant that operates this Timeball; yours is of another."
    return None


def either(roles: tuple[Role, ...]) -> str:
    """Name roles in a sentence."""
    *others, last = roles
    return f"{', '.join(others)} or {last}" if others else last
