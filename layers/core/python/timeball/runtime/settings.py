"""The environment of the functions: the resources of AWS that they use, and the settings of their deployment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.domain.lifecycle import parse_types, states_of
from timeball.domain.model.tenants.actor import parse_callers
from timeball.domain.model.tenants.key import LONGEST_PREFIX, SECRET_PREFIX
from timeball.domain.model.tenants.tenant import TENANT_NAME
from timeball.domain.sharing.executors import PollerBounds, Provisioned
from timeball.domain.usage.bill import parse_prices
from timeball.engine.context import Rules
from timeball.setting import one_of, read, setting, whole, written
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.http.addresses import parse_rules


def _networks(text: str) -> str:
    try:
        parse_rules(text)
    except ValueError as error:
        raise ValueError(f"must be networks, separated by commas: {error}") from None
    return text


_ADDRESS = re.compile(r"https?://[^\s?#/]{1,200}(/[^\s?#/]{1,100}){0,5}", re.ASCII)

_GATEWAY = ".execute-api."
"""In the name of an API's host on AWS."""

_MOST_CHARACTERS = 2000
"""Lambda limits the whole environment of a function to 4 KB."""


def _arns(text: str) -> str:
    try:
        parse_arns(text)
    except ValueError as error:
        raise ValueError(f"must be ARNs, separated by commas: {error}") from None
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"must have at most {_MOST_CHARACTERS} characters; let * stand for several ARNs")
    return text


def _prefix(text: str) -> str:
    if not SECRET_PREFIX.fullmatch(text) or len(text) > LONGEST_PREFIX:
        raise ValueError("must be the beginning of secrets' names, and end in a slash, such as timeball/")
    return text


def _address(text: str) -> str:
    if text and not _ADDRESS.fullmatch(text):
        raise ValueError("must be an address without a query, such as https://timeball.example/console")
    return text


def _tenant(text: str) -> str:
    if not TENANT_NAME.fullmatch(text):
        raise ValueError("must be the name of a tenant: 1 to 40 letters, digits and hyphens")
    return text


def _prices(text: str) -> str:
    parse_prices(text)
    return text


def _types(text: str) -> str:
    parse_types(text)
    return text


def _callers(text: str) -> str:
    parse_callers(text)
    return text


@dataclass(frozen=True)
class FunctionSettings:
    """The settings of a deployment that its functions use."""

    rules: Rules
    mapper: Mapper
    private_targets: str = setting("", "Networks that webhooks may call although they are not public", _networks)
    targets: str = setting(
        "",
        "ARNs that targets of AWS may name: functions, queues, topics, state machines, buses, clusters and task "
        "definitions, and the roles, subnets and security groups of these; separated by commas, with `*` as in IAM; an "
        "ARN for some tenants only is followed by their names: `=acme+globex`; without any ARN, only webhooks can be "
        "targets",
        _arns,
    )
    webhook_secrets: str = setting(
        "timeball/",
        "The beginning of the names of the secrets that sign webhooks; the tenant and a slash follow it. The executors "
        "may read these secrets, and no others. A stack with another name than `Timeball` has `timeball-<name>/`",
        _prefix,
    )
    console_url: str = setting(
        "",
        "The console's address in answers and notices, without a slash at its end, such as "
        "`https://timeball.example/console`; empty: in answers the host of the request, in notices that of the API",
        _address,
    )
    operating_tenant: str = setting(
        "main", "The tenant whose admins manage all tenants; the first admin key belongs to it", _tenant
    )
    iam_callers: str = setting(
        "",
        "AWS callers that may sign requests (SigV4) to `/iam/v1/...` instead of sending a key, each with its tenant "
        "and role: `123456789012/role/billing=acme:submitter`, separated by commas; without any caller that path does "
        "not exist",
        _callers,
    )
    execute_memory_mb: int = whole(
        512, 128, 10240, "Memory of an executor, in MB; it buys processor time, so that a cold start fits into the lead"
    )
    prices: str = setting(
        "",
        "AWS's prices where they differ from us-east-1, in dollars, used to compute costs: "
        "`write_unit=0.000000715,api_request=0.00000116`",
        _prices,
    )
    aws_client: str = one_of(
        "thin",
        ("thin", "boto3"),
        "The client of DynamoDB, SQS and Secrets Manager: our own (`thin`), which takes a tenth of the processor time, "
        "or boto3",
    )
    attempt_log: str = one_of(
        "all",
        ("all", "failed", "off"),
        "Which attempts have [a line in the log](observability.md#a-line-for-each-attempt): `all`; `failed`, those "
        "that did not succeed; or `off`, none. A million lines cost some $0.20",
    )
    metrics: str = one_of(
        "basic",
        ("off", "basic", "full"),
        "Which [metrics](../concepts/runs.md#metrics) are written: `basic`, the eight that alarms need; `full`, all of "
        "them, also by reason and by priority; or `off`. A metric costs $0.30 a month",
    )
    lifecycle_events: str = setting(
        "",
        "Which [lifecycle events](lifecycle-events.md) of runs and jobs are put onto the stack's bus, separated by "
        "commas: `run.failed,run.blocked,job.*`; `*`: all; empty: none",
        _types,
    )
    writes: str = one_of(
        "batch", ("batch", "single"), "Conditional writes as PartiQL batches, or one by one in parallel"
    )

    @property
    def target_arns(self) -> tuple[str, ...]:
        """Return the ARNs that targets may name, for any tenant."""
        return parse_arns(self.targets).arns

    @property
    def lifecycle_types(self) -> frozenset[str]:
        """Return the types of lifecycle events that are put onto the bus."""
        return parse_types(self.lifecycle_events)

    @property
    def lifecycle_states(self) -> list[str]:
        """Return the states in which a run's row may have an event of one of these types."""
        return states_of(self.lifecycle_types)


@dataclass(frozen=True)
class Environment:
    """The environment of a function of the engine: its table, the URLs of queues, its settings."""

    jobs_table: str
    queue_high: str
    queue_normal: str
    queue_low: str
    queue_watch: str
    queue_unreadable: str
    settings: FunctionSettings
    console: str = ""
    """The console's address below the API's own; empty: none is deployed."""

    @property
    def console_in_answers(self) -> str | None:
        """Return the console's address for answers; empty: it is on the host of each request; None: none is deployed.

        The host of a request may be a name of its owner's for that of API Gateway, as which the API was deployed.
        """
        is_on_gateway = _GATEWAY in self.console
        return (self.settings.console_url or ("" if is_on_gateway else self.console)) if self.console else None

    @property
    def console_in_notices(self) -> str:
        """Return the console's address for notices; empty: none is deployed."""
        return self.console and (self.settings.console_url or self.console)

    @property
    def queues(self) -> dict[str, str]:
        """Return the URLs of the priorities' queues."""
        return {"high": self.queue_high, "normal": self.queue_normal, "low": self.queue_low}

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> "Environment":
        """Read the environment from variables. Raises SettingsError."""
        return read(cls, variables, _variable)

    def written(self) -> dict[str, str]:
        """Return the variables of this environment."""
        return written(self, _variable)


def provisioned_text(mappings: Mapping[str, tuple[str, int, int, int]]) -> str:
    """Return the variable that names mappings to the scan.

    Each priority has the id of its mapping, the least and the most pollers, and how many may be ready.
    """
    return ",".join(":".join(map(str, (priority, *one))) for priority, one in mappings.items())


def parse_provisioned(text: str) -> dict[str, Provisioned]:
    """Return the mappings by priority."""
    parts = (part.split(":") for part in text.split(",") if part)
    return {
        priority: Provisioned(mapping, int(most), PollerBounds(int(least), int(raised)))
        for priority, mapping, least, most, raised in parts
    }


def _variable(name: str) -> str:
    return f"TIMEBALL_{name.upper()}"
