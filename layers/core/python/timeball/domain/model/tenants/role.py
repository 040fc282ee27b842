"""What a key may do within its tenant."""

from enum import StrEnum


class Role(StrEnum):
    """What a key is for. A worker's may report on runs and nothing else; of the others each includes the ones below."""

    ADMIN = "admin"
    OPERATOR = "operator"
    SUBMITTER = "submitter"
    VIEWER = "viewer"
    WORKER = "worker"
