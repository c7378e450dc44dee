"""Starts a command that outlives whoever asked for it.

`python detached.py FOLDER LOG COMMAND...`: it runs in FOLDER, in a session of its own, with its
process id in FOLDER/pid, and what it prints is added to LOG. It inherits what this process did. A
program of its own, since nothing else may happen between a fork and an exec in a program with
threads.
"""

import os
import signal
import sys
from pathlib import Path


def main(folder: str, log: str, *command: str) -> None:
    os.setsid()
    if os.fork():
        return
    # why: a shell that starts us with `&` leaves SIGINT ignored, and that would be inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.chdir(folder)
    # why here: whoever asked may be interrupted before it could write down an answer.
    Path("pid").write_text(str(os.getpid()))
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, output, output)):
        os.dup2(descriptor, number)
    os.execvp(command[0], command)  # noqa: S606 - an argument list from our own table


if __name__ == "__main__":
    main(*sys.argv[1:])
