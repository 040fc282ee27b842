"""The ticker: a state machine that calls the scan on each whole second; a new execution starts each minute.

An execution can live for almost five minutes, so that a late start leaves no gap. The newest execution owns the
partitions; older ones end at their next tick (`tick.asl.json`).
"""

from pathlib import Path

from aws_cdk import Aws, Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.functions import allow
from infra.settings import Settings

DEFINITION = Path(__file__).with_name("tick.asl.json")


class Ticker(Construct):
    """The state machine and the rule that starts it."""

    def __init__(self, scope: Construct, construct_id: str, scan: lambda_.IFunction, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
        allow(role, ["lambda:InvokeFunction"], [scan.function_arn])
        self.machine = stepfunctions.StateMachine(
            self,
            "Machine",
            state_machine_name=settings.name,  # the name marks it as Timeball's own, so that no target may be this
            state_machine_type=stepfunctions.StateMachineType.EXPRESS,
            definition_body=stepfunctions.DefinitionBody.from_string(DEFINITION.read_text()),
            # China and GovCloud are partitions of their own, with other prefixes of ARNs.
            definition_substitutions={"ScanArn": scan.function_arn, "Partition": Aws.PARTITION},
            role=role,
        )
        acknowledge(self.machine, "SF1", "Events of each second in each partition would cost more than the ticks")
        acknowledge(self.machine, "SF2", "Traces of each second in each partition would cost more than the ticks")
        events.Rule(
            self,
            "EachMinute",
            description="Starts the ticks",
            schedule=events.Schedule.rate(Duration.minutes(1)),
            targets=[
                targets.SfnStateMachine(
                    self.machine,
                    input=events.RuleTargetInput.from_object(settings.tick_input),
                    # The next start makes up for a start that is a minute late.
                    max_event_age=Duration.minutes(1),
                    retry_attempts=2,
                )
            ],
        )
