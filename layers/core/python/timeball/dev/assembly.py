"""An assembly is what the embedded AWS gets: the template that the CDK wrote, the files that it names, and a few facts.

It is a folder, so that a process can deploy it without the CDK and without Node.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEMPLATE, FACTS = "template.json", "facts.json"


@dataclass(frozen=True)
class Assembly:
    """A template that can be deployed."""

    name: str
    """The name of the stack."""
    tick_input: Mapping[str, int]
    """The input of an execution of the ticker."""
    has_console: bool
    """Whether the stack has the console."""
    template: str
    """The template, in JSON."""
    assets: Mapping[str, Path]
    """The zip archives that the template names, by their keys in the bucket of assets."""

    @classmethod
    def read(cls, folder: Path) -> "Assembly":
        """Read the assembly of a folder; the paths of its archives are relative to that folder."""
        facts = json.loads((folder / FACTS).read_text())
        return cls(
            name=facts["name"],
            tick_input=facts["tickInput"],
            has_console=facts["console"],
            template=(folder / TEMPLATE).read_text(),
            assets={key: folder / path for key, path in facts["assets"].items()},
        )

    @property
    def resources(self) -> Mapping[str, Any]:
        """Return the resources of the template by their logical ids."""
        resources: Mapping[str, Any] = json.loads(self.template)["Resources"]
        return resources


def write_assembly(folder: Path, template: str, facts: Mapping[str, object], assets: Mapping[str, str]) -> None:
    """Write an assembly into a folder; `assets` are paths relative to it, `facts` have the name and the rest."""
    (folder / TEMPLATE).write_text(template)
    (folder / FACTS).write_text(json.dumps({**facts, "assets": dict(assets)}, indent=2) + "\n")
