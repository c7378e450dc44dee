"""``python -m shoal_stub FD``: one model instance, told by the socket with that descriptor."""

import faulthandler
import signal
import socket
import sys

from .channel import Channel
from .runner import Runner

if __name__ == "__main__":
    # why: Ctrl-C in a terminal reaches the whole group; the server ends its models itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    sys.exit(Runner(Channel(socket.socket(fileno=int(sys.argv[1])))).run())
