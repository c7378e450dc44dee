"""Runs a command that dies with its supervisor.

`python die_with_parent.py SUPERVISOR_PID COMMAND...`

Linux sends the chosen signal when the thread that forked this process ends, also after a SIGKILL
of the supervisor. A wrapper, since a `preexec_fn` may deadlock in a program with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    supervisor, command = int(arguments[0]), arguments[1:]
    # why: a shell that starts us with `&` leaves SIGINT ignored, and that would be inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != supervisor:  # it died before the request above was made
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606 - an argument list from our own table


if __name__ == "__main__":
    main(sys.argv[1:])
