"""What differs on the emulator, for the local stage only: permissions that AWS does not require, and an address.

AWS authorizes a batch as its parts: a send is a send, a PartiQL insert is an insert into its table. The emulator
requires the name of the batch operation, which AWS does not know, and sees no table in a batch of statements. Nor does
it see which rule gets a target, or the definition of an ECS task.
"""

import json
import os
import re
from typing import Any

from aws_cdk import CfnParameter, Stack
from aws_cdk import aws_iam as iam

_SINGLE_TO_BATCH = {
    "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
    "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
    "sqs:SendMessage": "sqs:SendMessageBatch",
}
_TARGETS = {"events:PutTargets", "events:RemoveTargets"}
"""Actions that the emulator authorizes on the bus, and AWS on the rule."""
_STATEMENTS = {"dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"}


def allow_batches(stack: Stack) -> None:
    """Allow each function to do in batches what it may do one by one."""
    for construct in stack.node.find_all():
        if isinstance(construct, iam.CfnPolicy):
            document = stack.resolve(construct.policy_document)
            batches = [batch for statement in document["Statement"] for batch in _batches(statement)]
            construct.policy_document = {**document, "Statement": [*document["Statement"], *batches]}


def url_of(stack: Stack, api_id: str) -> str:
    """Return the address of an API, with a path and not a host of its own: some resolvers do not know such a name.

    The emulator's address is a parameter: it has another port each time, and the template stays the same.
    """
    endpoint = CfnParameter(
        stack,
        "Endpoint",
        default=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566"),
        description="The address of the embedded AWS",
    )
    return f"{endpoint.value_as_string}/_aws/execute-api/{api_id}"


def _batches(statement: dict[str, Any]) -> list[dict[str, Any]]:
    actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
    batches = [_SINGLE_TO_BATCH[action] for action in actions if action in _SINGLE_TO_BATCH]
    found = [{"Effect": "Allow", "Action": batches, "Resource": statement["Resource"]}] if batches else []
    targets = [action for action in actions if action in _TARGETS]
    if targets:
        bus = json.loads(re.sub(r":rule/([^/]+)/\*", r":event-bus/\1", json.dumps(statement["Resource"])))
        found.append({"Effect": "Allow", "Action": targets, "Resource": bus})
    if "ecs:RunTask" in actions:  # it authorizes on the cluster, which AWS knows as a condition
        found.append(
            {"Effect": "Allow", "Action": "ecs:RunTask", "Resource": statement["Condition"]["ArnLike"]["ecs:cluster"]}
        )
    if "ecs:StopTask" in actions:  # as above
        clusters = json.loads(re.sub(r":task/([^\"]+)/\*", r":cluster/\1", json.dumps(statement["Resource"])))
        found.append({"Effect": "Allow", "Action": ["ecs:DescribeTasks", "ecs:StopTask"], "Resource": clusters})
    if _STATEMENTS.intersection(actions):
        found.append({"Effect": "Allow", "Action": "dynamodb:BatchExecuteStatement", "Resource": "*"})
    return found
