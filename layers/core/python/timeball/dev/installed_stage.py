"""The Timeball of `timeball dev`: the parts of the wheel, as they are installed in a cache folder."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from timeball.dev.assembly import Assembly
from timeball.dev.data import opened
from timeball.dev.installation import installed
from timeball.dev.stage import Stage, Step, run_stage


@contextlib.contextmanager
def run_installed_stage(cache: Path, step: Step, data: Path | None = None) -> Iterator[Stage]:
    """Run a Timeball until the context is left; `data` is a folder that keeps its state.

    Raise `DataError` if that folder cannot be used, `InstallationError` if the installation fails, and what `run_stage`
    raises.
    """
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(opened(data.absolute())) if data else None
        made = installed(cache, step)
        yield stack.enter_context(run_stage(made.python, lambda _step: Assembly.read(made.assembly), step, kept))
