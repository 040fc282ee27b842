"""Start the emulator's application with a shield in front of it, and with archives that are unpacked once.

This runs on the emulator's Python, which has none of our code but the files beside this one.
"""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).parent.parent))

from local.shield import shielded
from local.unpacking import unpacking_once


def main() -> None:
    """Run the emulator as `python -m ministack` does, with the shield."""
    from ministack import app  # noqa: PLC0415 - found by the emulator's Python only
    from ministack.core import lambda_runtime  # noqa: PLC0415 - as above

    archive = unpacking_once(Path(tempfile.mkdtemp(prefix="unpacked-")))
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(lambda_runtime.zipfile), "ZipFile": archive})
    app.app = shielded(app.app)
    app.main()


if __name__ == "__main__":
    main()
