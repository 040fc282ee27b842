"""`python -m timeball` is the command line."""

from timeball.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
