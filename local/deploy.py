"""Deploy to the emulator, by the CDK app and the CDK's own command line, as to an account.

The bootstrap of the account and the synthesis of the app are independent and run at the same time.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.settings import PREFIX, Settings
from local.child import Child
from local.emulator import ACCOUNT, REGION, ROOT, Emulator

_CDK = (str(ROOT / ".venv/bin/node"), str(ROOT / "node_modules/aws-cdk/bin/cdk"), "--no-notices", "--ci")

_APP = f"{ROOT / '.venv/bin/python'} -O -m infra.app"
"""The app of cdk.json without the CDK's checks of each argument's type, which take a quarter of its time."""

_ASSETS = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"


@dataclass(frozen=True)
class DeployedStack:
    """A deployed Timeball: its settings and the outputs of its stack."""

    settings: Settings
    outputs: Mapping[str, str]
    api_url: str
    """With a path and not a host, as some resolvers do not know names below `localhost`; without a trailing slash."""


class Deployer:
    """The CDK's command line for an emulator."""

    def __init__(self, emulator: Emulator, folder: Path, overrides: Mapping[str, object] | None = None) -> None:
        """Take a folder for logs and the assembly, and settings that differ from the local stage's."""
        self._emulator = emulator
        self._folder = folder
        self._context = {"stage": "local", **(overrides or {})}
        self._settings = Settings.read({PREFIX + name: value for name, value in self._context.items()})

    def prepare(self) -> None:
        """Bootstrap the account and synthesize the app; raise `ChildFailedError` if one of them fails."""
        context = [part for name, value in self._context.items() for part in ("-c", f"{PREFIX}{name}={value}")]
        synthesis = ("synth", "--quiet", "--app", _APP, "--output", str(self._assembly), *context)
        with (
            self._start("bootstrap", "bootstrap", f"aws://{ACCOUNT}/{REGION}", folder=self._folder) as bootstrap,
            self._start("synth", *synthesis) as synth,
        ):
            synth.succeed("the synthesis of the app")
            bootstrap.succeed("the bootstrap of the account")
        # The policy of the bucket requires TLS, which the emulator does not support.
        self._emulator.client("s3").delete_bucket_policy(Bucket=_ASSETS)

    def deploy(self) -> DeployedStack:
        """Deploy the prepared app; raise `ChildFailedError` if that fails."""
        outputs_file = self._folder / "outputs.json"
        arguments = ("--app", str(self._assembly), "--method", "direct", "--require-approval", "never")
        with self._start("deploy", "deploy", *arguments, "--outputs-file", str(outputs_file), "--all") as deploy:
            deploy.succeed("the deployment")
        outputs = json.loads(outputs_file.read_text())[self._settings.name]
        api_id = outputs["ApiUrl"].removeprefix("https://").removeprefix("http://").split(".")[0]
        return DeployedStack(self._settings, outputs, f"{self._emulator.endpoint}/_aws/execute-api/{api_id}")

    def start_ticking(self, deployment: DeployedStack) -> None:
        """Start the ticker at once; its rule would start it within a minute."""
        self._emulator.client("stepfunctions").start_execution(
            stateMachineArn=deployment.outputs["TickerArn"],
            input=json.dumps(self._settings.tick_input),
        )

    @property
    def _assembly(self) -> Path:
        return self._folder / "cdk.out"

    def _start(self, name: str, *arguments: str, folder: Path = ROOT) -> Child:
        # Beside a cdk.json, a bootstrap also synthesizes the app, into a folder that others may have locked.
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CDK_"))},
            **self._emulator.client_environment,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "1",
            # Tests check the template; here the checks would double the time.
            "CDK_VALIDATION": "false",
            "CDK_HOME": str(self._folder / "cdk-home"),
        }
        return Child([*_CDK, *arguments], environment=environment, folder=folder, log=self._folder / f"{name}.log")
