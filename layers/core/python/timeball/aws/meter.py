"""Counts as CloudWatch metrics, by way of the log: one line in the embedded metric format for each."""

import logging

log = logging.getLogger(__name__)

NAMESPACE = "Timeball"


class CloudWatchMeter:
    """Writes each count, with its reason as a dimension, when it happens."""

    def count(self, name: str, value: int, reason: str) -> None:
        """Write one count; a metric that cannot be written is no reason to fail."""
        from aws_lambda_powertools.metrics import MetricUnit, single_metric  # noqa: PLC0415 - slow, and seldom needed

        try:
            with single_metric(name=name, unit=MetricUnit.Count, value=value, namespace=NAMESPACE) as metric:
                metric.add_dimension(name="reason", value=reason)
        except Exception:
            log.exception("metric not written", extra={"metric": name, "reason": reason})
