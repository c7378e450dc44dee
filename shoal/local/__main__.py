"""`python -m shoal.local`: the same as `shoal up`."""

import sys

from shoal.local.up import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
