"""Prepares the gateway's folder and becomes Envoy: the entry point of a gateway container."""

import json
import os
import subprocess
import sys

BOOTSTRAP = (sys.executable, "-m", "controlplane.gateway.bootstrap")


def main() -> None:
    answer = json.loads(subprocess.run(BOOTSTRAP, stdout=subprocess.PIPE, check=True).stdout)
    os.chdir(answer["cwd"])
    os.execv(answer["argv"][0], answer["argv"])  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
