"""``python -m worker_runtime.frontends DESCRIPTOR``: one front end, started by its core."""

import gc
import sys

gc.disable()  # why: it would look a hundred times through what stays for good; see ``serve``

from worker_runtime.frontends.serving import serve  # noqa: E402

if __name__ == "__main__":
    sys.exit(serve(int(sys.argv[1])))
