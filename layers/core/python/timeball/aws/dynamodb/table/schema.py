"""The two tables and their indexes, in one definition that the CDK app, the tests and the adapter share.

Imports nothing: the infrastructure reads it without boto3.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attribute:
    """A key attribute: its name and its DynamoDB type (`S` or `N`)."""

    name: str
    type: str


@dataclass(frozen=True)
class Index:
    """A global secondary index. It projects keys only, unless it has `whole_rows`."""

    name: str
    partition: Attribute
    sort: Attribute
    whole_rows: bool = False

    @property
    def projection(self) -> str:
        """What its entries contain, in DynamoDB's word."""
        return "ALL" if self.whole_rows else "KEYS_ONLY"


@dataclass(frozen=True)
class TableSchema:
    """A table: its logical name, its keys, its indexes, and the attribute with its time to live, if any."""

    name: str
    partition: Attribute
    sort: Attribute
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None


DUE = Index("due", Attribute("due_bucket", "S"), Attribute("due_at", "N"))
"""The sparse index of everything that waits for a time, and of nothing else."""

LISTING = Index("listing", Attribute("list_key", "S"), Attribute("listed_at", "N"))
"""All jobs of a tenant by their creation; dead letters by the time of their failure; tasks, bulk operations, and lines.

A job keeps its position as long as its row exists, whatever becomes of it.
"""

BY_STATE = Index("by_state", Attribute("state_key", "S"), Attribute("listed_at", "N"))
"""The sparse index of jobs that are open, or ended otherwise than completed, by their creation."""

BY_TASK = Index("by_task", Attribute("task_key", "S"), Attribute("listed_at", "N"))
"""The sparse index of jobs that name a task, by their creation."""

NOTABLE = Index("notable", Attribute("notable_key", "S"), Attribute("notable_at", "N"), whole_rows=True)
"""The sparse index of the runs that did not start at once and soon succeed: by their state, and by their end or start.

It has whole rows: a page costs what it shows, and no read of a row.
"""

JOBS = TableSchema(
    "jobs", Attribute("pk", "S"), Attribute("sk", "S"), (DUE, LISTING, BY_STATE, BY_TASK, NOTABLE), ttl="expires_at"
)
"""Jobs, their payloads, runs and results, one item collection each; tasks, partition and shard rows beside them."""

TENANTS = TableSchema("tenants", Attribute("pk", "S"), Attribute("sk", "S"), ttl="remove_at")
"""Tenants and their hashed API keys, which never expire by themselves here; and sessions, which do.

The rows of API keys have a field `expires_at`, so the time to live has another name.
"""

SESSIONS = "SESSIONS#"
"""The beginning of the partitions of sessions, the only ones that the authorizer may write to."""

TABLES = (JOBS, TENANTS)
