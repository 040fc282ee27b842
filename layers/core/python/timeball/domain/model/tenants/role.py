"""What a key may do within its tenant."""

from enum import StrEnum


class Role(StrEnum):
    """What a key is for. A worker's may report on runs and nothing else; of the others each includes the ones below."""

    ADMIN = "admin"
    OPERATOR = "operator"
    SUBMITTER = "submitter"
    VIEWER = "viewer"
    WORKER = "worker"

    def includes(self, other: "Role") -> bool:
        """Say whether a key of this role may do all that one of the other may."""
        return other in _INCLUDED[self]


_INCLUDED = {
    Role.ADMIN: frozenset(Role),
    Role.OPERATOR: frozenset({Role.OPERATOR, Role.SUBMITTER, Role.VIEWER, Role.WORKER}),
    Role.SUBMITTER: frozenset({Role.SUBMITTER, Role.VIEWER}),
    Role.VIEWER: frozenset({Role.VIEWER}),
    Role.WORKER: frozenset({Role.WORKER}),
}
