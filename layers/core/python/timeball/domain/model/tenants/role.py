"""The roles of API keys within a tenant."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a key.

    A worker may only report on runs. An operator may do everything but administer; a submitter may submit and read; a
    viewer may read.
    """

    ADMIN = "admin"
    OPERATOR = "operator"
    SUBMITTER = "submitter"
    VIEWER = "viewer"
    WORKER = "worker"

    def includes(self, other: "Role") -> bool:
        """Say whether a key of this role may do everything that a key of another role may do."""
        return other in _INCLUDED[self]


_INCLUDED = {
    Role.ADMIN: frozenset(Role),
    Role.OPERATOR: frozenset({Role.OPERATOR, Role.SUBMITTER, Role.VIEWER, Role.WORKER}),
    Role.SUBMITTER: frozenset({Role.SUBMITTER, Role.VIEWER}),
    Role.VIEWER: frozenset({Role.VIEWER}),
    Role.WORKER: frozenset({Role.WORKER}),
}
