"""``python -m shoal``: the command line where the console script is not installed."""

import sys

from shoal.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
