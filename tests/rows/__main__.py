"""Keep the rows of a release: `python -m tests.rows v0.2.0`, and at its tag once more with `--seal`."""

import argparse
import logging
import sys

from tests.rows.kept import SealedError, keep


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.rows", description=__doc__)
    parser.add_argument("release", help="such as v0.2.0")
    parser.add_argument("--seal", action="store_true", help="the release is out: never write its rows again")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    try:
        kept = keep(asked.release, seal=asked.seal)
    except SealedError as sealed:
        sys.exit(str(sealed))
    rows = sum(map(len, kept.rows.values()))
    sys.stdout.write(f"{rows} rows of {asked.release} are kept{' and sealed' if asked.seal else ''}.\n")


if __name__ == "__main__":
    main()
