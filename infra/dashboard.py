"""The dashboard: the alarms, and the metrics that answer the questions of a person on call."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.queues import Queues
from infra.settings import Settings

_ROWS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("Does it tick?", {"Ticks": "Sum", "PartitionsSilent": "Sum"}),
    ("Is it behind? (ms)", {"OldestDue": "Maximum", "ScanMs": "p99"}),
    ("Lateness (ms)", {"Lateness": "p99", "CanaryDelay": "Maximum"}),
    ("Are there hands?", {"RunsUnclaimed": "Sum", "SlotsInUse": "Maximum", "Slots": "Maximum"}),
    ("What ran?", {"RunsStarted": "Sum", "RunsSucceeded": "Sum", "FiresSkipped": "Sum"}),
    ("What is broken?", {"DeadLetters": "Sum", "RunsTakenOver": "Sum", "WatchResends": "Sum", "CircuitsOpen": "Sum"}),
    ("What is refused?", {"Throttled": "Sum", "AuthenticationsFailed": "Sum"}),
)
"""The graphs, with the statistic of each metric. Those that only `full` writes stay empty with `basic`."""


class Dashboard(Construct):
    """One dashboard of CloudWatch, named after the stack."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        settings: Settings,
        queues: Queues,
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        super().__init__(scope, construct_id)
        period = Duration.minutes(1)
        graphs = [
            _graph(
                title,
                [
                    cloudwatch.Metric(namespace=settings.name, metric_name=name, statistic=statistic, period=period)
                    for name, statistic in metrics.items()
                ],
            )
            for title, metrics in _ROWS
        ]
        feeds = {**{name: feed.queue for name, feed in queues.by_priority.items()}, "unreadable": queues.unreadable}
        depth = "ApproximateNumberOfMessagesVisible"
        graphs.append(
            _graph(
                "Messages that wait",
                [queue.metric(depth, statistic="Maximum", period=period, label=name) for name, queue in feeds.items()],
            )
        )
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=settings.name,
            default_interval=Duration.hours(3),
            widgets=[
                [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=[*alarms], width=24)],
                *(graphs[start : start + 2] for start in range(0, len(graphs), 2)),
            ],
        )


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.IWidget:
    return cloudwatch.GraphWidget(title=title, left=[*metrics], width=12, left_y_axis=cloudwatch.YAxisProps(min=0))
