"""The alarms, each of which names its runbook, and the topic that tells people."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Aws, Duration
from aws_cdk import aws_chatbot as chatbot
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.alarm_conditions import Combination, Condition, combinations, conditions
from infra.alarm_settings import SLACK, listed
from infra.queues import Queues
from infra.settings import Settings

RUNBOOKS: Final = "docs/runbooks"


def runbook(name: str) -> str:
    """Return the page of an alarm: `TickSilent` has docs/runbooks/tick-silent.md."""
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
    return f"{RUNBOOKS}/{words.lstrip('-')}.md"


class Alarms(Construct):
    """The topic, its subscribers, and the alarms that notify them when they begin and when they are over."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings, queues: Queues) -> None:
        super().__init__(scope, construct_id)
        self.topic = self._topic(settings)
        action = actions.SnsAction(self.topic)
        self.by_name: dict[str, cloudwatch.AlarmBase] = {}
        for one in conditions(settings, queues):
            alarm = _metric(one, settings).create_alarm(
                self,
                one.name,
                alarm_name=f"{settings.name}-{one.name}",
                alarm_description=_described(one.part_of or one.name, one.about),
                comparison_operator=one.compares,
                threshold=one.threshold,
                datapoints_to_alarm=one.most,
                evaluation_periods=one.of,
                treat_missing_data=one.missing,
            )
            if not one.part_of:
                alarm.add_alarm_action(action)
                alarm.add_ok_action(action)
            self.by_name[one.name] = alarm
        for each in combinations(settings):
            self.by_name[each.name] = self._combined(each, settings, action)

    def _combined(
        self, one: Combination, settings: Settings, action: cloudwatch.IAlarmAction
    ) -> cloudwatch.CompositeAlarm:
        rule, is_on = cloudwatch.AlarmRule, cloudwatch.AlarmState.ALARM
        parts = [rule.from_alarm(self.by_name[name], is_on) for name in one.parts]
        parts += [rule.not_(rule.from_alarm(self.by_name[name], is_on)) for name in one.unless]
        combine = rule.all_of if one.needs_all else rule.any_of
        alarm = cloudwatch.CompositeAlarm(
            self,
            one.name,
            composite_alarm_name=f"{settings.name}-{one.name}",
            alarm_description=_described(one.name, one.about),
            alarm_rule=combine(*parts),
        )
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)
        return alarm

    def _topic(self, settings: Settings) -> sns.Topic:
        topic = sns.Topic(self, "Topic", topic_name=f"{settings.name}-alarms", enforce_ssl=True)
        # The policy that enforces TLS replaces the topic's own, by which an alarm of the account may publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        for number, subscriber in enumerate(listed(settings.alarming.alarm_subscribers)):
            if subscriber.startswith(SLACK):
                workspace, _, channel = subscriber.removeprefix(SLACK).partition("/")
                chatbot.SlackChannelConfiguration(
                    self,
                    f"Slack{number}",
                    slack_channel_configuration_name=f"{settings.name}-{channel}",
                    slack_workspace_id=workspace,
                    slack_channel_id=channel,
                    notification_topics=[topic],
                )
            elif "://" in subscriber:
                topic.add_subscription(subscriptions.UrlSubscription(subscriber))
            else:
                topic.add_subscription(subscriptions.EmailSubscription(subscriber))
        return topic


def _metric(one: Condition, settings: Settings) -> cloudwatch.Metric:
    period = Duration.seconds(one.seconds)
    if one.queue is not None:
        return one.queue.metric(one.metric, statistic=one.statistic, period=period)
    namespace, dimensions = settings.name, _NONE
    if one.function:
        namespace, dimensions = "AWS/Lambda", {"FunctionName": f"{settings.name}-{one.function}"}
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=one.metric,
        statistic=one.statistic,
        period=period,
        dimensions_map=dimensions,
    )


_NONE: Mapping[str, str] = {}


def _described(name: str, about: str) -> str:
    return f"{about} Runbook: {runbook(name)}"
