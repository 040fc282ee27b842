"""A reader of the documents who deploys from a clone of their own to an embedded AWS, and pastes blocks of shell there.

The origin of the clone has two tagged versions of the present code. Both keep their tables as in an account, although
their stage is `local`. `make setup` does nothing, because the clone shares this folder's environments.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infra.settings import PREFIX, Settings
from local.installed import ROOT
from tests.end_to_end import aws_cli
from timeball.dev.deployment import DeployedStack
from timeball.dev.emulator import ACCOUNT, REGION, Emulator
from timeball.dev.stage import first_key
from timeball.dev.warm import await_health, warm

OLD, NEW = "v1.0.0", "v1.1.0"
NEWS: Final = "* A line that only the newer version has."

_COPIED: Final = (
    "infra",
    "functions",
    "layers",
    "console",
    "cdk.json",
    "CHANGELOG.md",
    "Makefile",
    "pyproject.toml",
    ".gitignore",
)
_SHARED: Final = (".venv", "node_modules")
_WITHOUT_AN_ACCOUNT: Final = "RemovalPolicy.DESTROY if settings.is_local else "
_SECONDS: Final = 900

_CDK: Final = 'cdk() { .venv/bin/node node_modules/aws-cdk/bin/cdk "$@"; }\n'


@dataclass
class Reader:
    """The clone, and the account in which it is deployed."""

    emulator: Emulator
    folder: Path
    outputs: dict[str, str] = field(default_factory=dict)
    api_url: str = ""
    key: str = ""

    @property
    def clone(self) -> Path:
        return self.folder / "timeball"

    def prepare(self) -> None:
        """Make the origin with two versions, and the reader's clone of the older one, with settings of their own."""
        origin = self.folder / "origin"
        self._copy(origin)
        storage = origin / "infra/storage.py"
        assert _WITHOUT_AN_ACCOUNT in storage.read_text()
        storage.write_text(storage.read_text().replace(_WITHOUT_AN_ACCOUNT, ""))
        self._git(origin, "init", "--quiet", "--initial-branch", "main")
        self._commit(origin, "The older version")
        self._git(origin, "tag", OLD)
        self._git(self.folder, "clone", "--quiet", str(origin), str(self.clone))
        self._git(self.clone, "checkout", "--quiet", "-b", "ours", OLD)
        settings = self.clone / "cdk.json"
        told = json.loads(settings.read_text())
        told["context"] |= {"timeball:stage": "local"}
        settings.write_text(json.dumps(told, indent=2) + "\n")
        self._commit(self.clone, "Our settings")

        changes, handler = origin / "CHANGELOG.md", origin / "functions/api.py"
        changes.write_text(changes.read_text().replace("### Added\n", f"### Added\n\n{NEWS}\n", 1))
        handler.write_text(f"{handler.read_text()}\nVERSION = 2\n")
        self._commit(origin, "The newer version")
        self._git(origin, "tag", NEW)
        for name in _SHARED:
            (self.clone / name).symlink_to(ROOT / name)
        self._make_tools()

    def deploy(self) -> None:
        """Deploy for the first time, as the README says, and start the ticks at once."""
        self.paste(f"{_CDK}cdk bootstrap aws://{ACCOUNT}/{REGION}")
        # The policy of the bucket requires TLS, which the emulator does not support.
        self.emulator.client("s3").delete_bucket_policy(Bucket=f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}")
        self.paste(f"{_CDK}cdk deploy --require-approval never")
        settings = Settings.read({f"{PREFIX}stage": "local"})
        self.outputs = self.stack_outputs()
        deployed = DeployedStack.at(self.emulator.endpoint, settings.name, self.outputs)
        self.api_url = deployed.api_url
        warm(self.emulator, deployed)
        self.emulator.client("stepfunctions").start_execution(
            stateMachineArn=self.outputs["TickerArn"], input=json.dumps(settings.tick_input)
        )
        self.key = first_key(self.emulator, deployed)
        await_health(self.api_url)

    def paste(self, *blocks: str, **more: str) -> str:
        """Paste blocks into one shell; assert that each command succeeds, and return what they print."""
        script = "\n".join(blocks)
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],  # noqa: S607 -- a reader runs it with the bash on their path
            cwd=self.clone,
            env={**self._environment, "API": self.api_url, "KEY": self.key, **more},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, f"{script}\n{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
        return ran.stdout

    def stack_outputs(self) -> dict[str, str]:
        """Return the outputs of the deployed stack."""
        (stack,) = self.emulator.client("cloudformation").describe_stacks(StackName="Timeball")["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}

    def code_of(self, function: str) -> str:
        """Return the hash of a function's deployed code."""
        about = self.emulator.client("lambda").get_function_configuration(FunctionName=f"Timeball-{function}")
        return str(about["CodeSha256"])

    @property
    def _environment(self) -> Mapping[str, str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CDK_", "GIT_"))}
        named = {
            f"GIT_{who}_{what}": "reader@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        return {
            **own,
            **named,
            **self.emulator.client_environment,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "1",
            "CDK_VALIDATION": "false",
            "CDK_HOME": str(self.folder / "cdk-home"),
        }

    def _copy(self, origin: Path) -> None:
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *_COPIED]
        files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        for name in files:
            if (ROOT / name).is_file():
                (origin / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, origin / name)

    def _git(self, folder: Path, *words: str) -> None:
        command = ["git", *words]
        subprocess.run(command, cwd=folder, env=dict(self._environment), check=True, capture_output=True)

    def _commit(self, folder: Path, subject: str) -> None:
        self._git(folder, "add", "--all")
        self._git(folder, "commit", "--quiet", "--message", subject)

    def _make_tools(self) -> None:
        tools = {
            "aws": f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m {aws_cli.__name__} "$@"\n',
            "make": '#!/bin/sh\ntest "$*" = setup\n',
        }
        (self.folder / "bin").mkdir()
        for name, text in tools.items():
            command = self.folder / "bin" / name
            command.write_text(text)
            command.chmod(0o755)
