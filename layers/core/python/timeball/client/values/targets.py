"""The targets of jobs: a webhook, or something in AWS."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from timeball.client.values.encoding import given_fields, refuse_unknown, refuse_unless

Method: TypeAlias = Literal["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]


@dataclass(frozen=True)
class Http:
    """A webhook."""

    url: str
    """With `https://` or `http://`; it may have placeholders such as `{{payload.id}}`."""
    method: Method = "POST"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Own headers. Their values may be secret, so no text of this value shows them."""
    body: str | None = None
    """A template that is sent instead of the payload."""
    secret: str | None = None
    """The name of the secret in AWS Secrets Manager whose key signs the call; never the key itself."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        refuse_unless(
            f"The URL of a webhook begins with https:// and a host, and {self.url!r} does not.",
            holds=parts.scheme in ("https", "http") and bool(parts.hostname),
        )
        refuse_unknown("The method of a webhook", self.method, get_args(Method))
        # Without the value: it is a secret.
        refuse_unless(
            "`secret` names a secret of AWS Secrets Manager, such as timeball/acme/report; it is not the key itself.",
            holds=not (self.secret or "").startswith("whsec_"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        found = given_fields(self)
        secret = {"secretId": found.pop("secret")} if "secret" in found else {}
        return {"type": "http", **found, **secret}


@dataclass(frozen=True)
class Slack:
    """A message in Slack for news of a job, by the URL of an incoming webhook, which is a secret."""

    url: str = field(repr=False)
    text: str = "{{jobName}}: {{type}} {{reason}}"
    """The message, with placeholders for the fields of the notice; plain, so a job's name alerts no channel."""

    def __post_init__(self) -> None:
        refuse_unless(
            "Slack wants the URL of an incoming webhook, which begins with https://.",
            holds=self.url.startswith("https://"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        blocks = [
            {"type": "section", "text": {"type": "plain_text", "text": self.text}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "{{fireTime}} {{consoleUrl}}"}]},
        ]
        body = {"text": "{{jobId}}: {{type}}", "blocks": blocks}
        return {"type": "http", "url": self.url, "body": json.dumps(body, ensure_ascii=False)}


@dataclass(frozen=True)
class Lambda:
    """A Lambda function."""

    function_arn: str
    invocation: Literal["requestResponse", "event"] = "requestResponse"
    """Whether the run waits for the function's answer, or ends when the call is accepted."""

    def __post_init__(self) -> None:
        _refuse_no_arn("function_arn", self.function_arn)
        refuse_unknown("invocation", self.invocation, ("requestResponse", "event"))

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        return {"type": "lambda", **given_fields(self)}


@dataclass(frozen=True)
class Sqs:
    """A queue, by its ARN or its URL."""

    queue: str
    message_group_id: str | None = None
    """For a FIFO queue: its group, which may have placeholders."""

    def __post_init__(self) -> None:
        refuse_unless(
            f"A queue is named by its ARN or by its https:// URL, and not by {self.queue!r}.",
            holds=self.queue.startswith(("arn:", "https://", "http://")),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        found = given_fields(self)
        queue = found.pop("queue")
        return {"type": "sqs", "queueArn" if queue.startswith("arn:") else "queueUrl": queue, **found}


@dataclass(frozen=True)
class Sns:
    """A topic."""

    topic_arn: str
    subject: str | None = None
    message_group_id: str | None = None

    def __post_init__(self) -> None:
        _refuse_no_arn("topic_arn", self.topic_arn)

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        return {"type": "sns", **given_fields(self)}


@dataclass(frozen=True)
class StepFunctions:
    """A state machine."""

    state_machine_arn: str
    follow: bool = False
    """Whether the run ends with the execution, and not with its start."""

    def __post_init__(self) -> None:
        _refuse_no_arn("state_machine_arn", self.state_machine_arn)

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        return {"type": "stepFunctions", **given_fields(self)}


@dataclass(frozen=True)
class Ecs:
    """A task of ECS."""

    cluster_arn: str
    task_definition_arn: str
    container_name: str
    launch_type: Literal["FARGATE", "EC2", "EXTERNAL"] = "FARGATE"
    subnets: Sequence[str] = ()
    security_groups: Sequence[str] = ()
    assign_public_ip: bool = False
    follow: bool = False
    """Whether the run ends with the task, and not with its start."""

    def __post_init__(self) -> None:
        _refuse_no_arn("cluster_arn", self.cluster_arn)
        _refuse_no_arn("task_definition_arn", self.task_definition_arn)
        refuse_unknown("launch_type", self.launch_type, ("FARGATE", "EC2", "EXTERNAL"))

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        return {"type": "ecs", **given_fields(self)}


@dataclass(frozen=True)
class EventBridge:
    """An event on a bus."""

    bus_arn: str
    source: str
    detail_type: str

    def __post_init__(self) -> None:
        _refuse_no_arn("bus_arn", self.bus_arn)

    def to_json(self) -> dict[str, Any]:
        """Return the target of the API."""
        return {"type": "eventBridge", **given_fields(self)}


Target: TypeAlias = Http | Slack | Lambda | Sqs | Sns | StepFunctions | Ecs | EventBridge
"""Anything that can be called."""


def target_fields(call: Target | str) -> dict[str, Any]:
    """Return the fields of a job that say what it calls: a target, or the URL or the task that a text names."""
    refuse_unless("A job calls something: give a URL, the id of a task, or a target such as Http.", holds=bool(call))
    return {"handler": call} if isinstance(call, str) else {"target": call.to_json()}


def _refuse_no_arn(name: str, value: str) -> None:
    refuse_unless(f"{name} is an ARN, and {value!r} is none.", holds=value.startswith("arn:"))
