"""The fields of targets of AWS: the forms of ARNs and of what goes with them."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from timeball.api.http.fields import Checked


def _shaped(pattern: str, sentence: str, *examples: str) -> Checked:
    schema = {"examples": [*examples]} if examples else {}
    return Checked(partial(re.fullmatch, pattern, flags=re.ASCII), sentence, pattern=f"^({pattern})$", **schema)


def _arn(what: str, service: str, name: str, example: str) -> Checked:
    of_example = f"arn:aws:{service}:eu-west-1:123456789012:{example}"
    pattern = f"arn:aws[a-z-]{{0,10}}:{service}:[a-z]{{2}}[a-z-]{{1,20}}-[0-9]{{1,2}}:[0-9]{{12}}:{name}"
    return _shaped(pattern, f"Give the ARN of {what}, such as {of_example}.", of_example)


_QUALIFIER: Final = r"(:[A-Za-z0-9$_-]{1,128})?"

FunctionArn = Annotated[
    str, _arn("a function", "lambda", rf"function:[A-Za-z0-9_-]{{1,64}}{_QUALIFIER}", "function:invoices")
]
QueueArn = Annotated[str, _arn("a queue", "sqs", r"[A-Za-z0-9_-]{1,80}(\.fifo)?", "invoices")]
TopicArn = Annotated[str, _arn("a topic", "sns", r"[A-Za-z0-9_-]{1,251}(\.fifo)?", "invoices")]
StateMachineArn = Annotated[
    str,
    _arn("a state machine", "states", rf"stateMachine:[A-Za-z0-9_-]{{1,80}}{_QUALIFIER}", "stateMachine:invoices"),
]
BusArn = Annotated[str, _arn("an event bus", "events", "event-bus/[A-Za-z0-9._/-]{1,256}", "event-bus/default")]
ClusterArn = Annotated[str, _arn("a cluster", "ecs", "cluster/[A-Za-z0-9_-]{1,255}", "cluster/nightly")]
TaskDefinitionArn = Annotated[
    str,
    _arn(
        "a task definition", "ecs", "task-definition/[A-Za-z0-9_-]{1,255}(:[0-9]{1,9})?", "task-definition/invoices:3"
    ),
]

_EXAMPLE_URL: Final = "https://sqs.eu-west-1.amazonaws.com/123456789012/invoices"
_QUEUE_URL: Final = re.compile(
    r"https?://sqs\.([a-z]{2}[a-z-]*-[0-9]{1,2})\.[A-Za-z0-9.-]{1,200}(?::[0-9]{1,5})?/([0-9]{12})/"
    r"([A-Za-z0-9_-]{1,80}(?:\.fifo)?)",
    re.ASCII,
)
_PARTITIONS: Final[Mapping[str, str]] = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


def queue_arn(url: str) -> str:
    """Return the ARN of the queue that a valid URL names."""
    found = _QUEUE_URL.fullmatch(url)
    if found is None:
        raise ValueError("a faultless URL names a queue")
    region, account, name = found.groups()
    partition = next((of for begin, of in _PARTITIONS.items() if region.startswith(begin)), "aws")
    return f"arn:{partition}:sqs:{region}:{account}:{name}"


QueueUrl = Annotated[
    str, _shaped(_QUEUE_URL.pattern, f"Give the URL of a queue, such as {_EXAMPLE_URL}, or a queueArn.", _EXAMPLE_URL)
]
MessageGroupId = Annotated[
    str,
    _shaped("[!-~]{1,128}", "A message group is 1 to 128 visible ASCII characters without blanks."),
]
Subject = Annotated[
    str,
    _shaped("[!-~][ -~]{0,98}", "A subject is one line of up to 99 ASCII characters that does not begin with a blank."),
]
Source = Annotated[
    str,
    _shaped(
        r"(?!aws\.)[A-Za-z0-9._/-]{1,256}",
        "A source is 1 to 256 letters, digits, dots, slashes, hyphens or underscores, and does not begin with aws.",
    ),
]
DetailType = Annotated[str, _shaped("[ -~]{1,128}", "A detailType is one line of 1 to 128 ASCII characters.")]
ContainerName = Annotated[
    str, _shaped("[A-Za-z0-9_-]{1,255}", "A container's name is letters, digits, hyphens and underscores.")
]


def _once(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("Give each entry once.")
    return names


Subnets = Annotated[
    list[Annotated[str, _shaped("subnet-[0-9a-f]{8,17}", "Give the ids of subnets, such as subnet-0a1b2c3d.")]],
    Field(max_length=16, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_once),
]
SecurityGroups = Annotated[
    list[Annotated[str, _shaped("sg-[0-9a-f]{8,17}", "Give the ids of security groups, such as sg-0a1b2c3d.")]],
    Field(max_length=5, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_once),
]
