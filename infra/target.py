"""The machine that the functions run on, and the interpreter that makes bytecode for it."""

import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from infra.settings import Settings

_PYTHON = "3.13"


@dataclass(frozen=True)
class Target:
    """A Python version, a processor, and what uv calls the two; `compiler` is an interpreter of that very version."""

    python: str
    architecture: lambda_.Architecture
    uv_arguments: tuple[str, ...]
    compiler: str | None

    @classmethod
    def of(cls, settings: Settings) -> "Target":
        """Name Python 3.13 on Graviton; in the local stage, this very machine and interpreter."""
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
        """Say what it means that there is no compiler."""
        return (
            f"There is no Python {self.python} here, so sources alone are deployed and every cold start compiles them: "
            f"`.venv/bin/uv python install {self.python}`, and deploy again."
        )


def find_uv() -> str | None:
    """Return where uv is: beside this interpreter, or on the path."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def _own_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _interpreter(python: str) -> str | None:
    """Return an interpreter of a version, if this machine has one: bytecode is of one version and any processor."""
    if python == _own_version():
        return sys.executable
    uv = find_uv()
    if uv is None:
        return None
    found = subprocess.run(  # noqa: S603 -- the arguments are ours
        [uv, "python", "find", "--no-project", "--no-python-downloads", python],
        capture_output=True,
        text=True,
        check=False,
    )
    return None if found.returncode else found.stdout.strip()
