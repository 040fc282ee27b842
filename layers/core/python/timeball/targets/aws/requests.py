"""The request to AWS for a call: one operation of one service for each type of target.

Wherever AWS takes a name, it is built from tenant, run and attempt, so that AWS ignores a repeated request and never
mistakes it for another tenant's. A followed execution is named so that no run has two of them at once.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from timeball.domain.attempts.trace_context import as_xray
from timeball.domain.model.terms.target import (
    AwsTarget,
    EcsTarget,
    EventBridgeTarget,
    InvocationType,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    is_followed,
)
from timeball.ports.target import Call
from timeball.targets.envelope import Facts, as_headers, as_json, as_variables

_NOTHING: Final = "{}"
"""The body of a message without a payload: AWS accepts no empty body."""

_NO_CHARACTERS: Final = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}

_LONGEST_TOKEN: Final = 64
"""The limit of ECS, in characters; the name of an execution may have 80, and the mark of a message 128."""

_LONGEST_GROUP: Final = 128
"""The limit for messages, in characters."""

_INVOCATIONS: Final = {InvocationType.REQUEST_RESPONSE: "RequestResponse", InvocationType.EVENT: "Event"}


@dataclass(frozen=True)
class AwsRequest:
    """An operation of a service in a region, by boto3's names."""

    service: str
    region: str
    operation: str
    arguments: Mapping[str, Any]


def shown(request: AwsRequest) -> dict[str, Any]:
    """Return a request as a trial shows it; it contains nothing secret."""
    arguments = {name: one.decode() if isinstance(one, bytes) else one for name, one in request.arguments.items()}
    return {
        "service": request.service,
        "region": request.region,
        "operation": request.operation,
        "arguments": arguments,
    }


def request_of(target: AwsTarget, call: Call, facts: Facts) -> AwsRequest:
    """Return the request for a call of a target of AWS."""
    match target:
        case LambdaTarget():
            return _of(target.function_arn, "lambda", "invoke", _invocation(target, call, facts))
        case SqsTarget():
            return _of(target.queue_arn, "sqs", "send_message", _message(target, call, facts))
        case SnsTarget():
            return _of(target.topic_arn, "sns", "publish", _notification(target, call, facts))
        case StepFunctionsTarget():
            return _of(target.state_machine_arn, "stepfunctions", "start_execution", _execution(target, call, facts))
        case EcsTarget():
            return _of(target.cluster_arn, "ecs", "run_task", _task(target, call, facts))
        case EventBridgeTarget():
            return _of(target.bus_arn, "events", "put_events", {"Entries": [_event(target, call, facts)]})


def mark_of(call: Call) -> str:
    """Return the name of an attempt of a run for AWS: readable if that is short enough.

    Two tenants may have jobs of the same id, and call the same resource for the same instant. A followed execution has
    the name of the first attempt that may have started it, until its fate is known.
    """
    attempt = call.starts_as if is_followed(call.work.target) and call.starts_as is not None else call.attempt
    readable = f"{call.run.job.tenant}.{call.run}-{attempt}"
    if len(readable) <= _LONGEST_TOKEN:
        return readable
    return hashlib.blake2b(readable.encode(), digest_size=_LONGEST_TOKEN // 2).hexdigest()


def queue_url(arn: str) -> str:
    """Return the URL of a queue."""
    _, partition, _, region, account, name = arn.split(":")
    return f"https://sqs.{region}.amazonaws.com{'.cn' if partition == 'aws-cn' else ''}/{account}/{name}"


def execution_arn(target: StepFunctionsTarget, call: Call) -> str:
    """Return the ARN of the execution that a call has started, if it did."""
    begin, _, machine = target.state_machine_arn.partition(":stateMachine:")
    return f"{begin}:execution:{machine.partition(':')[0]}:{mark_of(call)}"


def _of(arn: str, service: str, operation: str, arguments: Mapping[str, Any]) -> AwsRequest:
    return AwsRequest(service, arn.split(":")[3], operation, arguments)


def _invocation(target: LambdaTarget, call: Call, facts: Facts) -> dict[str, Any]:
    return {
        "FunctionName": target.function_arn,
        "InvocationType": _INVOCATIONS[target.invocation],
        "Payload": as_json(facts, call.work.payload).encode(),
    }


def _message(target: SqsTarget, call: Call, facts: Facts) -> dict[str, Any]:
    return {
        "QueueUrl": queue_url(target.queue_arn),
        "MessageBody": _text(call),
        **_with_message(target.queue_arn, target.message_group_id, call, facts),
    }


def _notification(target: SnsTarget, call: Call, facts: Facts) -> dict[str, Any]:
    return {
        "TopicArn": target.topic_arn,
        "Message": _text(call),
        **({} if target.subject is None else {"Subject": target.subject}),
        **_with_message(target.topic_arn, target.message_group_id, call, facts),
    }


def _text(call: Call) -> str:
    """Return a payload as a message. Characters that SQS refuses occur only in strings, and are escaped there."""
    return (call.work.payload or _NOTHING).translate(_NO_CHARACTERS)


def _with_message(arn: str, group: str | None, call: Call, facts: Facts) -> dict[str, Any]:
    is_fifo = arn.endswith(".fifo")
    group = call.run.job.job_id if group is None and is_fifo else group
    tenant = call.run.job.tenant
    return {
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": fact} for name, fact in as_headers(facts).items()
        },
        **({} if group is None else {"MessageGroupId": _group_of(tenant, group)}),
        **({"MessageDeduplicationId": mark_of(call)} if is_fifo else {}),
    }


def _group_of(tenant: str, group: str) -> str:
    """Return a tenant's message group: within another tenant's group it could delay that tenant's messages."""
    of_tenant = f"{tenant}.{group}"
    if len(of_tenant) <= _LONGEST_GROUP:
        return of_tenant
    return f"{tenant}.{hashlib.blake2b(group.encode(), digest_size=32).hexdigest()}"


def _execution(target: StepFunctionsTarget, call: Call, facts: Facts) -> dict[str, Any]:
    return {
        "stateMachineArn": target.state_machine_arn,
        "name": mark_of(call),
        "input": as_json(facts, call.work.payload),
        **({} if call.traceparent is None else {"traceHeader": as_xray(call.traceparent)}),
    }


def _task(target: EcsTarget, call: Call, facts: Facts) -> dict[str, Any]:
    variables = as_variables(facts, call.work.payload)
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    network = {
        "subnets": [*target.subnets],
        "securityGroups": [*target.security_groups],
        "assignPublicIp": "ENABLED" if target.assign_public_ip else "DISABLED",
    }
    return {
        "cluster": target.cluster_arn,
        "taskDefinition": target.task_definition_arn,
        "launchType": target.launch_type.value,
        "count": 1,
        "clientToken": mark_of(call),
        "startedBy": f"timeball/{call.run.job.tenant}/{call.run.job.job_id}",
        "overrides": {"containerOverrides": [{"name": target.container_name, "environment": environment}]},
        **({"networkConfiguration": {"awsvpcConfiguration": network}} if target.subnets else {}),
    }


def _event(target: EventBridgeTarget, call: Call, facts: Facts) -> dict[str, Any]:
    return {
        "EventBusName": target.bus_arn,
        "Source": target.source,
        "DetailType": target.detail_type,
        "Detail": as_json(facts, call.work.payload),
        **({} if call.traceparent is None else {"TraceHeader": as_xray(call.traceparent)}),
    }
