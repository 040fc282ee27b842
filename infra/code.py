"""The code of all functions: one asset of the handlers and of `timeball`, so that no function mixes two versions.

CloudFormation changes a function's code and its layer by two calls, and the contents of one asset by one call
(docs/adr/0017-one-code-asset-with-bytecode.md).
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from infra.bundle import ROOT, bundled, compile_all
from infra.target import Target

PACKAGES = (ROOT / "functions", ROOT / "layers/core/python/timeball")

NOT_DEPLOYED = {
    "__pycache__",
    "functions/console.py",
    "timeball/console",
    "py.typed",
    "timeball/api/openapi/__main__.py",
    "timeball/__main__.py",
    "timeball/cli",
    "timeball/client",
    "timeball/dev",
    "timeball/cdk",
    "timeball/importing",
    "timeball/mcp",
    "timeball/rehearsal",
    "timeball/testing",
}
"""Names of files and folders anywhere, and paths. The console has an asset of its own; users install the rest."""


def code(target: Target) -> lambda_.AssetCode:
    """Return the asset of the Lambda modules and of our modules that they import."""
    made_from = [part for name, file in _deployed() for part in (name.encode(), file.read_bytes())]
    return bundled(PACKAGES[0], target, lambda folder: copy_code(target, folder), made_from)


def copy_code(target: Target, folder: Path) -> None:
    """Copy our deployed code into a function's folder, with the same package names as here."""
    for name, file in _deployed():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, path)
    compile_all(folder, target, "/var/task")


def _deployed() -> Iterator[tuple[str, Path]]:
    """Yield each deployed file with its path in a function's folder, in the order of paths."""
    files = {
        file.relative_to(package.parent): file for package in PACKAGES for file in package.rglob("*") if file.is_file()
    }
    for path in sorted(files):
        if NOT_DEPLOYED.isdisjoint({*path.parts, path.as_posix(), *(above.as_posix() for above in path.parents)}):
            yield path.as_posix(), files[path]
