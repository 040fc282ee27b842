"""The stages of a deployment: what each has otherwise than its settings declare."""

from collections.abc import Mapping

_OF_DEMOS = (
    ("lambda", "function:"),
    ("sqs", ""),
    ("sns", ""),
    ("states", "stateMachine:"),
    ("events", "event-bus/"),
    ("ecs", "cluster/"),
    ("ecs", "task-definition/"),
)
"""What whoever tries the local stage may call: all resources of these kinds whose names begin with `timeball-demo-`."""

STAGES: Mapping[str, Mapping[str, object]] = {
    "local": {
        "private_targets": "127.0.0.0/8",
        "targets": ",".join(
            [
                *(f"arn:aws:{of}:us-east-1:000000000000:{kind}timeball-demo-*" for of, kind in _OF_DEMOS),
                *(f"arn:aws:ec2:us-east-1:000000000000:{kind}/*" for kind in ("subnet", "security-group")),
            ]
        ),
        "execute_concurrency": 15,
        "runs_per_message": 1,
        "requests_per_second": 5_000,
        "api_requests_per_second": 10_000,
        "api_burst": 5_000,
        "log_retention_days": 1,
    },
    "small": {
        "few_lead_ms": 1750,
    },
    "large": {
        "few_lead_ms": 1750,
        "shards": 320,
        "list_shards": 32,
        "partitions": 8,
        "pollers": 20,
        "scan_memory_mb": 1769,
        "execute_memory_mb": 1769,
        "execute_concurrency": 750,
        "warm_runs_per_second": 10_000,
        "requests_per_second": 1_000,
        "api_requests_per_second": 2_000,
        "api_burst": 4_000,
        "log_retention_days": 90,
    },
}
"""The settings of each stage that differ from the declared ones; `small` is the default."""

TRUSTED, STRANGERS = "trusted", "strangers"
"""A deployment is shared by teams that trust each other, or by tenants that do not."""

_OF_STRANGERS: Mapping[str, object] = {
    "active_jobs": 10_000,
    "submits_per_second": 20,
    "runs_at_once": 3,
    "runs_created_per_minute": 6_000,
}
OF_STRANGERS: Mapping[str, Mapping[str, object]] = {
    "local": {**_OF_STRANGERS, "runs_at_once": 1},
    "small": _OF_STRANGERS,
    "large": {
        **_OF_STRANGERS,
        "active_jobs": 100_000,
        "submits_per_second": 200,
        "runs_at_once": 18,
        "runs_created_per_minute": 60_000,
    },
}
"""The quotas that cost, where tenants do not trust each other: runs at once are half of the fewest executors."""


def of_stage_and_tenants(stage: str, tenants: str) -> dict[str, object]:
    """Return what is otherwise than declared in a stage, whose tenants trust each other or do not."""
    bounds = OF_STRANGERS.get(stage, {}) if tenants == STRANGERS else {}
    return {**STAGES.get(stage, {}), **bounds}
