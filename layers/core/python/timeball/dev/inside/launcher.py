"""Start the emulator's application with a shield, with archives that are unpacked once, and with state that is saved.

This runs on the emulator's Python, which has none of our code but the files beside this one.
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_Application = Callable[[Any, Any, Any], Awaitable[None]]

_EACH_SECONDS = 60


def main() -> None:
    """Run the emulator as `python -m ministack` does, with what stands beside this file."""
    sys.path.append(str(Path(__file__).parent))
    shield, unpacking, saving = (import_module(name) for name in ("shield", "unpacking", "saving"))
    from ministack import app  # noqa: PLC0415 - found by the emulator's Python only
    from ministack.core import lambda_runtime, persistence  # noqa: PLC0415 - as above
    from ministack.services import lambda_svc  # noqa: PLC0415 - as above

    unpacked = unpacking.Unpacked(Path(tempfile.mkdtemp(prefix="unpacked-")))
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(lambda_runtime.zipfile), "ZipFile": unpacked.archive_class()})
    lambda_svc._resolve_layer_zip = unpacked.by_reference(lambda_svc._resolve_layer_zip)  # noqa: SLF001
    app.app = shield.shielded(app.app)
    if deployed := os.environ.pop("TIMEBALL_DEPLOYED", ""):
        state = saving.StateSaver(app, persistence.save_state, Path(deployed))
        app._build_persistence_save_dict = state.to_save_at_the_end  # noqa: SLF001
        app.app = state.saved_each(_EACH_SECONDS, app.app)
    app.app = _ended_at_once(app.app)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    app.main()


def _ended_at_once(application: _Application) -> _Application:
    """End the process when the application has shut down: Python would wait for calls of functions, for minutes."""

    async def ended(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 -- as ASGI has them
        await application(scope, receive, send)
        if scope["type"] == "lifespan":
            os._exit(0)

    return ended


def _end_with_parent() -> None:
    """Stop in the usual way when the process that started this one is gone: its end of the standard input closes."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
