"""Prepares the gateway's folder and runs Envoy: the entry point of a gateway container.

On SIGTERM or SIGINT Envoy's requests are answered before it is ended (``shoal.local.envoy_drain``);
a second signal ends it at once. The exit status is Envoy's.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from shoal.local import die_with_parent
from shoal.local.envoy_drain import drain

BOOTSTRAP = (sys.executable, "-m", "controlplane.gateway.bootstrap")


def main() -> int:
    answer = json.loads(subprocess.run(BOOTSTRAP, stdout=subprocess.PIPE, check=True).stdout)
    # why from this thread: Envoy gets SIGTERM when the thread that started it ends
    tied = (sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()))
    envoy = subprocess.Popen((*tied, *answer["argv"]), cwd=answer["cwd"], start_new_session=True)
    asked = threading.Event()

    def end() -> None:
        drain(Path(answer["admin"]), answer["drain_s"])
        envoy.terminate()

    def handle(*_: object) -> None:
        if asked.is_set():
            envoy.terminate()
        else:
            asked.set()
            threading.Thread(target=end, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    status = envoy.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
