"""Every measurement that needs no AWS, one after the other: `python -m bench`."""

import sys

from bench import idle, scan_cost, stepping

if __name__ == "__main__":
    sys.exit(stepping.main(sys.argv[1:]) or scan_cost.main() or idle.main())
