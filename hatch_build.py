"""Add the parts of `timeball dev` to a wheel. They need the CDK, so they come from the environment of `make setup`."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PartsOfDev(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the parts, and lets the wheel include them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the parts before a wheel is built; an editable installation needs none."""
        if version == "editable":
            return
        root = Path(self.root)
        python, parts = root / ".venv/bin/python", root / ".local/parts"
        if not python.exists():
            self.app.display_warning("No `make setup` was run here: `timeball dev` will not work from this wheel.")
            return
        subprocess.run([str(python), "-m", "local.parts", str(parts)], cwd=root, check=True)  # noqa: S603 - ours
        build_data["force_include"][str(parts)] = "timeball/dev/parts"
