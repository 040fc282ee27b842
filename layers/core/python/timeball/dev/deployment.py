"""Deploy an assembly to the embedded AWS by the calls that the CDK's command line would make.

The command line would also start Node twice and bootstrap the account: three quarters of the time. CloudFormation gets
the same template from the same bucket (`tests/local/test_synthesis.py`).
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from timeball.dev.assembly import Assembly
from timeball.dev.emulator import ACCOUNT, REGION, Emulator

_ASSETS: Final = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
_BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
_BOOTSTRAP_VERSION: Final = "30"
_ENDPOINT: Final = "Endpoint"
_CAPABILITIES: Final = ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")

_PAUSE_SECONDS = 0.2
"""Between two questions about the stack: each takes the emulator from its work for some milliseconds."""
_DEPLOYED = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


class DeploymentFailedError(RuntimeError):
    """CloudFormation could not make the stack."""


@dataclass(frozen=True)
class DeployedStack:
    """A deployed Timeball."""

    name: str
    """The name of the stack, with which the names of its functions begin."""
    outputs: Mapping[str, str]
    """The outputs of the stack."""
    api_url: str
    """With a path and not a host, as some resolvers do not know names below `localhost`; without a trailing slash."""

    @classmethod
    def at(cls, endpoint: str, name: str, outputs: Mapping[str, str]) -> "DeployedStack":
        """Return the stack with these outputs that an emulator serves at an endpoint."""
        api_id = outputs["ApiUrl"].removeprefix("https://").removeprefix("http://").split(".")[0]
        return cls(name, outputs, f"{endpoint}/_aws/execute-api/{api_id}")


def deploy(emulator: Emulator, assembly: Assembly, progress: Callable[[str], None] = lambda _: None) -> DeployedStack:
    """Deploy an assembly, unless exactly this one is deployed; raise `DeploymentFailedError` if that fails.

    `progress` is called with the number of resources that exist so far.
    """
    stacks = emulator.client("cloudformation")
    found = _stack(stacks, assembly.name)
    if found is None or not _is_same(stacks, assembly):
        _prepare(emulator, assembly)
        begin = stacks.update_stack if found else stacks.create_stack
        begin(
            StackName=assembly.name,
            TemplateURL=f"{emulator.endpoint}/{_ASSETS}/{_template_key(assembly)}",
            Parameters=_parameters(emulator, assembly),
            Capabilities=[*_CAPABILITIES],
        )
        found = _await_end(stacks, assembly, progress)
    if found["StackStatus"] not in _DEPLOYED:
        raise DeploymentFailedError(_why(stacks, found))
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}
    return DeployedStack.at(emulator.endpoint, assembly.name, outputs)


def start_ticking(emulator: Emulator, assembly: Assembly, deployment: DeployedStack) -> None:
    """Start the ticker at once; its rule would start it within a minute."""
    emulator.client("stepfunctions").start_execution(
        stateMachineArn=deployment.outputs["TickerArn"], input=json.dumps(assembly.tick_input)
    )


def _prepare(emulator: Emulator, assembly: Assembly) -> None:
    """Make what a bootstrap of the account leaves and the template needs, and publish the files."""
    buckets = emulator.client("s3")
    buckets.create_bucket(Bucket=_ASSETS)
    emulator.client("ssm").put_parameter(Name=_BOOTSTRAP, Value=_BOOTSTRAP_VERSION, Type="String", Overwrite=True)
    for key, path in assembly.assets.items():
        with path.open("rb") as archive:
            buckets.put_object(Bucket=_ASSETS, Key=key, Body=archive)
    buckets.put_object(Bucket=_ASSETS, Key=_template_key(assembly), Body=assembly.template.encode())


def _template_key(assembly: Assembly) -> str:
    return f"{hashlib.sha256(assembly.template.encode()).hexdigest()}.json"


def _parameters(emulator: Emulator, assembly: Assembly) -> list[dict[str, str]]:
    declared = json.loads(assembly.template).get("Parameters", {})
    return [{"ParameterKey": _ENDPOINT, "ParameterValue": emulator.endpoint}] if _ENDPOINT in declared else []


def _stack(stacks: Any, name: str) -> dict[str, Any] | None:  # noqa: ANN401 -- boto3 makes its clients as it runs
    found = [one for one in stacks.describe_stacks()["Stacks"] if one["StackName"] == name]
    return found[0] if found else None


def _is_same(stacks: Any, assembly: Assembly) -> bool:  # noqa: ANN401 -- as above
    body = stacks.get_template(StackName=assembly.name)["TemplateBody"]
    deployed = json.loads(body) if isinstance(body, str) else body
    return bool(deployed == json.loads(assembly.template))


def _await_end(stacks: Any, assembly: Assembly, progress: Callable[[str], None]) -> dict[str, Any]:  # noqa: ANN401 -- as above
    while True:
        found = _stack(stacks, assembly.name)
        if found is None or not found["StackStatus"].endswith("_IN_PROGRESS"):
            break
        made = stacks.list_stack_resources(StackName=assembly.name)["StackResourceSummaries"]
        progress(f"{len(made)} of {len(assembly.resources)}")
        time.sleep(_PAUSE_SECONDS)
    if found is None:
        raise DeploymentFailedError(f"the stack {assembly.name} has vanished")
    return found


def _why(stacks: Any, found: dict[str, Any]) -> str:  # noqa: ANN401 -- as above
    events = stacks.describe_stack_events(StackName=found["StackName"])["StackEvents"]
    failed = [
        f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason', '')}"
        for one in events
        if one["ResourceStatus"].endswith("_FAILED")
    ]
    reasons = failed or [str(found.get("StackStatusReason", ""))]
    return "\n".join([*reasons, f"the deployment ended as {found['StackStatus']}"])
