"""Bundle what is deployed to functions: a folder that is made here, without Docker, with bytecode.

A function's folders are read-only, so without bytecode every cold start would compile the sources. The bytecode
contains no source time and is not checked against its source (PEP 552): the two are always deployed together.

Invariant: a bundle's name is a hash of what it is made from and how, so that the same sources are the same asset.
"""

import hashlib
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from infra.target import Target

ROOT = Path(__file__).parent.parent


class BundlingError(RuntimeError):
    """The functions' code or packages cannot be bundled."""


def bundled(
    source: Path, target: Target, make: Callable[[Path], None], made_from: Iterable[bytes]
) -> lambda_.AssetCode:
    """Return an asset that `make` writes into an empty folder when it is needed.

    `source` is the folder that the asset stands for; `made_from` has everything that its contents depend on, except the
    target.
    """
    return lambda_.Code.from_asset(
        str(source),
        asset_hash_type=AssetHashType.CUSTOM,
        asset_hash=digest(target, made_from),
        # The image never starts: the local bundling either succeeds or raises.
        bundling=BundlingOptions(
            image=DockerImage.from_registry("scratch"),
            local=cast("ILocalBundling", _Made(make)),
        ),
    )


def digest(target: Target, made_from: Iterable[bytes]) -> str:
    """Return the hash of these parts for a target."""
    facts = (
        target.python,
        target.architecture.name,
        *target.uv_arguments,
        "with bytecode" if target.compiler else "sources only",
    )
    whole = hashlib.sha256()
    for part in (Path(__file__).read_bytes(), *(text.encode() for text in facts), *made_from):
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()


def compile_all(folder: Path, target: Target, deployed_at: str, *, keep_sources: bool = True) -> None:
    """Add bytecode to a folder that is deployed to a path of the functions; do nothing without a compiler.

    The bytecode is added beside sources that are kept, for tracebacks, and otherwise replaces them.
    """
    if target.compiler is None:
        return
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", deployed_at]
    if not keep_sources:
        options.append("-b")
    done = subprocess.run(  # noqa: S603 -- the arguments are ours
        [target.compiler, "-I", "-m", "compileall", *options, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BundlingError(f"{target.compiler} could not compile the deployed code:\n{done.stdout}{done.stderr}")
    for source in () if keep_sources else folder.rglob("*.py"):
        source.unlink()


@jsii.implements(ILocalBundling)
class _Made:
    def __init__(self, make: Callable[[Path], None]) -> None:
        self._make = make

    def try_bundle(self, output_dir: str, options: BundlingOptions) -> bool:  # noqa: ARG002 -- the CDK's signature
        self._make(Path(output_dir))
        return True
