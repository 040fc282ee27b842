"""The layer of third-party packages, which uv installs for the exact Python and processor of the functions."""

import shutil
import subprocess
import sys
from pathlib import Path

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundle import ROOT, BundlingError, bundled, compile_all
from infra.target import Target, find_uv

LOCK = ROOT / "layers/deps/requirements.txt"

SERVICES = (
    "cloudformation",
    "dynamodb",
    "ecs",
    "events",
    "lambda",
    "s3",
    "secretsmanager",
    "sns",
    "sqs",
    "ssm",
    "stepfunctions",
    "sts",
)
"""The services that functions call; botocore's data about all other services would be half of the layer."""


def install(target: Target, folder: Path) -> None:
    """Install the locked dependencies for the target into a layer's folder; raise `BundlingError` if that fails."""
    uv = find_uv()
    if uv is None:
        raise BundlingError("uv is missing: run `make setup`, or install uv, to build the layer of dependencies")
    packages = folder / "python"
    options = [
        "--quiet",
        "--no-progress",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--link-mode",
        "copy",
    ]
    where = ["--target", str(packages), "--requirement", str(LOCK)]
    done = subprocess.run(  # noqa: S603 -- the arguments are ours
        [uv, "pip", "install", *options, *target.uv_arguments, *where],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BundlingError(f"uv could not install {LOCK.relative_to(ROOT)} for Python {target.python}:\n{done.stderr}")
    for description in (packages / "botocore/data").iterdir():
        if description.is_dir() and description.name not in SERVICES:
            shutil.rmtree(description)
    # A third fewer files: a cold start fetches and unpacks the layer first.
    compile_all(folder, target, "/opt", keep_sources=False)


class Dependencies(Construct):
    """The layer of every function. It contains no code of ours, because a function and its layer change separately."""

    def __init__(self, scope: Construct, construct_id: str, target: Target) -> None:
        super().__init__(scope, construct_id)
        made_from = [LOCK.read_bytes(), Path(__file__).read_bytes(), sys.platform.encode()]
        self.layer = lambda_.LayerVersion(
            self,
            "Layer",
            description="Third-party packages, as layers/deps/requirements.txt pins them",
            code=bundled(LOCK.parent, target, lambda folder: install(target, folder), made_from),
            compatible_runtimes=[target.runtime],
            compatible_architectures=[target.architecture],
        )
