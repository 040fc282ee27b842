"""The two layers: what we wrote, and what it needs.

The dependencies are installed by uv for the exact Python and processor of the functions, without Docker.
Their asset is named by what it is made from, so that nothing is installed when nothing changed.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.settings import Settings

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "layers/deps/requirements.txt"
NOT_DEPLOYED = [
    "**/__pycache__",
    "**/*.pyc",
    "**/py.typed",
    "python/timeball/__main__.py",
    "python/timeball/cli",
    "python/timeball/testing",
]


SERVICES = ("dynamodb", "events", "lambda", "secretsmanager", "sqs", "stepfunctions", "sts")
"""The services that functions speak to; what botocore knows of all others would be half of the layer."""


class BundlingError(RuntimeError):
    """The dependencies of the functions cannot be installed."""


@dataclass(frozen=True)
class Target:
    """The machine that the functions run on: a Python version, a processor, and what uv calls the two."""

    python: str
    architecture: lambda_.Architecture
    uv_arguments: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings) -> "Target":
        """Name Python 3.13 on Graviton; in the local stage, this very machine and interpreter."""
        if settings.is_local:
            arm = platform.machine().lower() in {"arm64", "aarch64"}
            return cls(
                python=f"{sys.version_info.major}.{sys.version_info.minor}",
                architecture=lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64,
                uv_arguments=("--python", sys.executable),
            )
        return cls(
            python="3.13",
            architecture=lambda_.Architecture.ARM_64,
            uv_arguments=("--python-version", "3.13", "--python-platform", "aarch64-manylinux_2_28"),
        )

    @property
    def runtime(self) -> lambda_.Runtime:
        """Return the Lambda runtime of this Python."""
        return lambda_.Runtime(f"python{self.python}", lambda_.RuntimeFamily.PYTHON)


def install(target: Target, folder: Path) -> None:
    """Install the locked dependencies for the target into a folder; raise `BundlingError` if that fails."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise BundlingError("uv is missing: run `make setup`, or install uv, to build the layer of dependencies")
    options = [
        "--quiet",
        "--no-progress",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--link-mode",
        "copy",
    ]
    where = ["--target", str(folder), "--requirement", str(LOCK)]
    done = subprocess.run(  # noqa: S603 -- the arguments are ours
        [uv, "pip", "install", *options, *target.uv_arguments, *where],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BundlingError(f"uv could not install {LOCK.relative_to(ROOT)} for Python {target.python}:\n{done.stderr}")
    for description in (folder / "botocore/data").iterdir():
        if description.is_dir() and description.name not in SERVICES:
            shutil.rmtree(description)


@jsii.implements(ILocalBundling)
class _Installed:
    def __init__(self, target: Target) -> None:
        self._target = target

    def try_bundle(self, output_dir: str, options: BundlingOptions) -> bool:  # noqa: ARG002 -- the CDK's signature
        install(self._target, Path(output_dir) / "python")
        return True


class Layers(Construct):
    """The layers that every function carries."""

    def __init__(self, scope: Construct, construct_id: str, target: Target) -> None:
        super().__init__(scope, construct_id)
        core = lambda_.LayerVersion(
            self,
            "Core",
            description="Timeball's own code",
            code=lambda_.Code.from_asset(str(ROOT / "layers/core"), exclude=NOT_DEPLOYED),
            compatible_runtimes=[target.runtime],
            compatible_architectures=[target.architecture],
        )
        dependencies = lambda_.LayerVersion(
            self,
            "Dependencies",
            description="Third-party packages, as layers/deps/requirements.txt pins them",
            code=lambda_.Code.from_asset(
                str(LOCK.parent),
                asset_hash_type=AssetHashType.CUSTOM,
                asset_hash=_digest(target),
                # The image is never started: the local bundling either succeeds or raises.
                bundling=BundlingOptions(
                    image=DockerImage.from_registry("scratch"),
                    local=cast("ILocalBundling", _Installed(target)),
                ),
            ),
            compatible_runtimes=[target.runtime],
            compatible_architectures=[target.architecture],
        )
        self.all: list[lambda_.ILayerVersion] = [dependencies, core]


def _digest(target: Target) -> str:
    parts = (
        LOCK.read_text(),
        target.python,
        target.architecture.name,
        sys.platform,
        *target.uv_arguments,
        *SERVICES,
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
