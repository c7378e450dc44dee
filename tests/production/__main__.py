"""Runs these tests in a network of their own, which ends with them: `make prod-test`.

Arguments are pytest's. The environment may say ``PROD_TEST_OUTAGE_S`` (seconds for which control
plane, broker and database are away; 60) and ``PROD_TEST_FROM`` (the revision that is upgraded from;
the one before the newest migration).
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.production.network import INSIDE

FOLDER = Path(__file__).parent
# why mounts as well: the names of services are in a file /etc/hosts of these processes alone
APART = ("unshare", "--net", "--mount", "--propagation", "private", "--")
NEEDED = (
    "make prod-test makes networks for its pods, for which it needs Linux, util-linux, iproute2 and"
    " the rights of root (CAP_NET_ADMIN and CAP_SYS_ADMIN): "
)


def main(arguments: list[str]) -> int:
    try:
        tried = subprocess.run(
            [*APART, "ip", "link", "add", "try", "type", "bridge"],
            capture_output=True,
            text=True,
            check=False,
        )
        refused = tried.stderr.strip() if tried.returncode else ""
    except FileNotFoundError as error:
        refused = str(error)
    if refused:
        sys.stderr.write(f"{NEEDED}{refused}\n")
        return 1
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--randomly-dont-reorganize"]
    command = [*APART, *pytest, "-o", f"testpaths={FOLDER}", *arguments]
    return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
