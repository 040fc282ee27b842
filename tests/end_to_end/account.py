"""Targets of AWS in the account of a stage, created with the rights of the account's owner."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.end_to_end.steps import until
from timeball.dev.emulator import ACCOUNT, REGION
from timeball.dev.stage import Stage

NAME = "timeball-demo-{}"
OF = f"{REGION}:{ACCOUNT}"


@dataclass(frozen=True)
class Account:
    """The account of a stage. The targets that it creates are on the stage's list of allowed targets."""

    stage: Stage

    def client(self, service: str) -> Any:
        return self.stage.emulator.client(service)

    def queue(self, name: str, **attributes: str) -> str:
        """Create a queue, and return its ARN."""
        self.client("sqs").create_queue(QueueName=NAME.format(name), Attributes=attributes)
        return f"arn:aws:sqs:{OF}:{NAME.format(name)}"

    def queue_url(self, arn: str) -> str:
        url: str = self.client("sqs").get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        return url

    def let_send(self, service: str, arn: str) -> None:
        """Allow a service of AWS to send to a queue."""
        may = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sqs:SendMessage", "Resource": arn}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [may]})
        self.client("sqs").set_queue_attributes(QueueUrl=self.queue_url(arn), Attributes={"Policy": policy})

    def role(self) -> str:
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        roles = self.client("iam")
        with suppress(roles.exceptions.EntityAlreadyExistsException):
            roles.create_role(RoleName=NAME.format("role"), AssumeRolePolicyDocument=document)
        return f"arn:aws:iam::{ACCOUNT}:role/{NAME.format('role')}"

    def machine(self, name: str, **state: object) -> str:
        """Create a state machine of one state, and return its ARN."""
        definition = json.dumps({"StartAt": "Only", "States": {"Only": state}})
        made = self.client("stepfunctions").create_state_machine(
            name=NAME.format(name), roleArn=self.role(), definition=definition
        )
        arn: str = made["stateMachineArn"]
        return arn

    def task(self, name: str, **more: object) -> dict[str, object]:
        """Create a cluster and a task definition with one container, and return the target that runs it."""
        ecs = self.client("ecs")
        cluster = ecs.create_cluster(clusterName=NAME.format(name))["cluster"]["clusterArn"]
        container = {"name": "main", "image": "busybox", "memory": 64}
        definition = ecs.register_task_definition(family=NAME.format(name), containerDefinitions=[container])
        arn = definition["taskDefinition"]["taskDefinitionArn"]
        return {"type": "ecs", "clusterArn": cluster, "taskDefinitionArn": arn, "containerName": "main", **more}

    def received(self, arn: str) -> dict[str, Any]:
        """Wait for a message, receive it, delete it, and return it."""
        sqs, found, url = self.client("sqs"), [], self.queue_url(arn)

        def receive() -> bool:
            answer = sqs.receive_message(
                QueueUrl=url, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=1
            )
            found.extend(answer.get("Messages", []))
            return bool(found)

        until(receive, otherwise=f"nothing came to {arn}")
        sqs.delete_message(QueueUrl=url, ReceiptHandle=found[0]["ReceiptHandle"])
        message: dict[str, Any] = found[0]
        return message
