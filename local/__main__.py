"""`make run`: start everything, print its addresses, and end everything at Ctrl-C."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence

from local.installed import ROOT, NotInstalledError
from local.stage import run_local_stage
from timeball.dev.screen import complain, show, step
from timeball.dev.stage import Stage
from timeball.setting import SettingsError

SESSION = ROOT / ".local/session.json"


@contextlib.contextmanager
def _session(stage: Stage) -> Iterator[None]:
    """Write a note of what runs where, for `make demo`, and remove it at the end if it is still ours."""
    note = json.dumps(
        {
            "apiUrl": stage.deployment.api_url,
            "apiKey": stage.key,
            "tenant": stage.tenant,
            "endpoint": stage.emulator.endpoint,
            "outputs": dict(stage.deployment.outputs),
            "pid": os.getpid(),
            "emulatorPid": stage.emulator.pid,
        },
        indent=2,
    )
    SESSION.parent.mkdir(exist_ok=True)
    SESSION.touch(mode=0o600)
    SESSION.write_text(note)
    try:
        yield
    finally:
        if SESSION.exists() and SESSION.read_text() == note:
            SESSION.unlink()


def main(arguments: Sequence[str]) -> int:
    """Run with settings such as `partitions=2` until Ctrl-C, SIGTERM or a failure; return the exit code."""
    overrides = dict(argument.split("=", 1) for argument in arguments)
    try:
        return show(
            lambda: run_local_stage(step, overrides), ending="Ctrl-C ends it and deletes its data.", beside=_session
        )
    except (SettingsError, NotInstalledError) as failure:
        complain(str(failure))
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
