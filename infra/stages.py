"""The stages of a deployment: the settings of each that differ from their declared defaults."""

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
"""The targets that a user of the local stage may call: all of these kinds with the prefix `timeball-demo-`."""

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
        "alarms": "on",
    },
}
"""The settings of each stage that differ from the declared ones; `small` is the default stage."""

TRUSTED, STRANGERS = "trusted", "strangers"
"""The tenants of a deployment trust each other, or they do not."""

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
"""Quotas with a cost, for tenants that do not trust each other: runs at once are half of the fewest executors."""


def of_stage_and_tenants(stage: str, tenants: str) -> dict[str, object]:
    """Return the settings that differ from the declared ones, for a stage and the trust between its tenants."""
    bounds = OF_STRANGERS.get(stage, {}) if tenants == STRANGERS else {}
    return {**STAGES.get(stage, {}), **bounds}
