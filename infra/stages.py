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
        "api_requests_per_second": 10_000,
        "api_burst": 5_000,
        "log_retention_days": 1,
    },
    "small": {
        "few_lead_ms": 1750,
    },
    "large": {
        "few_lead_ms": 1750,
        "shards": 64,
        "list_shards": 32,
        "partitions": 16,
        "pollers": 20,
        "execute_memory_mb": 1769,
        "execute_concurrency": 750,
        "warm_runs_per_second": 10_000,
        "api_requests_per_second": 2_000,
        "api_burst": 4_000,
        "log_retention_days": 90,
    },
}
"""What is otherwise than declared; `small` is the default."""
