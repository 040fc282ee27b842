"""The console function: answer a browser from the files that are deployed beside this module, and from nothing else."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from timeball.console.packing import ServedFile, unpack
from timeball.console.serving import answer

FILES = Path(__file__).parent.parent / "console.json"


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - it asks nobody, and waits for nothing
    """Answer one request of the HTTP API (payload format 2.0)."""
    return answer(_files(), event)


@cache
def _files() -> Mapping[str, ServedFile]:
    return unpack(FILES.read_text())
