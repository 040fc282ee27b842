"""The machine that the functions run on, and the interpreter that makes bytecode for it."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from infra.settings import Settings

_PYTHON = "3.13"

_BYTECODE = {_PYTHON: "cpython-313 f30d0d0a"}
"""How an interpreter identifies its bytecode. The runtime ignores any other, and compiles at each start."""


@dataclass(frozen=True)
class Target:
    """A Python version and a processor, uv's arguments for both, and an interpreter of exactly this version."""

    python: str
    architecture: lambda_.Architecture
    uv_arguments: tuple[str, ...]
    compiler: str | None

    @classmethod
    def of(cls, settings: Settings) -> "Target":
        """Return Python 3.13 on Graviton; in the local stage, this machine and this interpreter."""
        if settings.is_local:
            arm = platform.machine().lower() in {"arm64", "aarch64"}
            return cls(
                python=_own_version(),
                architecture=lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64,
                uv_arguments=("--python", sys.executable),
                compiler=sys.executable,
            )
        return cls(
            python=_PYTHON,
            architecture=lambda_.Architecture.ARM_64,
            uv_arguments=("--python-version", _PYTHON, "--python-platform", "aarch64-manylinux_2_28"),
            compiler=_interpreter(_PYTHON),
        )

    @property
    def runtime(self) -> lambda_.Runtime:
        """Return the Lambda runtime of this Python."""
        return lambda_.Runtime(f"python{self.python}", lambda_.RuntimeFamily.PYTHON)

    @property
    def without_compiler(self) -> str:
        """Return the warning that there is no compiler."""
        return (
            f"This machine has no Python {self.python} whose bytecode the runtime accepts, so only sources are "
            f"deployed and every cold start compiles them: run "
            f"`.venv/bin/uv python install {self.python}`, and deploy again."
        )


def find_uv() -> str | None:
    """Return the path of uv, beside this interpreter or on the path; None if it is missing."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def _own_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _interpreter(python: str) -> str | None:
    """Return an interpreter of a version, if this machine has one; its bytecode fits any processor.

    A name on the path proves nothing: it may be another implementation, a shim without a version, or a pre-release.
    """
    return next((found for found in _candidates(python) if _bytecode_of(found) == _BYTECODE[python]), None)


def _candidates(python: str) -> Iterator[str]:
    """Yield paths of possible interpreters of a version, the nearest first: on the path, shimmed, managed by uv."""
    yield sys.executable
    for folder in map(Path, os.get_exec_path()):
        yield str(folder / f"python{python}")
        yield from map(str, sorted((folder.parent / "versions").glob(f"{python}*/bin/python{python}"), reverse=True))
    uv = find_uv()
    if uv is not None:
        found = _said_by([uv, "python", "find", "--no-project", "--no-python-downloads", "--managed-python", python])
        yield from [found] if found else []


def _bytecode_of(interpreter: str) -> str:
    """Return the implementation and the magic number of an interpreter's bytecode; empty if it fails."""
    script = "import sys, importlib.util as u; print(sys.implementation.cache_tag, u.MAGIC_NUMBER.hex())"
    return _said_by([interpreter, "-I", "-c", script]) if Path(interpreter).is_file() else ""


def _said_by(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- the arguments are ours
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()
