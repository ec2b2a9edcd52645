"""Run `python -m bylaw` as `bylaw`."""

import sys

from bylaw.cli import main

if __name__ == "__main__":
    sys.exit(main())
