"""The Timeball of `make run` and of the tests: these sources, on the embedded AWS that `make setup` installs."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from local.installed import EMULATOR, require_emulator
from local.synthesis import synthesized
from timeball.dev.stage import Stage, Step, run_stage, silently

__all__ = ["EMULATOR", "run_local_stage"]


def run_local_stage(
    step: Step = silently, overrides: Mapping[str, object] | None = None
) -> AbstractContextManager[Stage]:
    """Run a Timeball until the context is left; `overrides` are settings that differ from the local stage's."""
    require_emulator()
    return run_stage(EMULATOR, lambda step: synthesized(overrides or {}, step), step)
