"""Start the emulator's application with a shield, with archives that are unpacked once, and with state that is saved.

This runs on the emulator's Python, which has none of our code but the files beside this one.
"""

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

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
    app.main()


if __name__ == "__main__":
    main()
