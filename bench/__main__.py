"""Every measurement that needs no AWS, one after the other: `python -m bench`."""

import sys

from bench import create_cost, idle, scan_cost, stepping

if __name__ == "__main__":
    sys.exit(stepping.main(sys.argv[1:]) or create_cost.main() or scan_cost.main() or idle.main())
