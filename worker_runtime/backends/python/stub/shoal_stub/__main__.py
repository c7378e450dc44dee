"""``python -m shoal_stub FD``: one model instance, told by the socket with that descriptor."""

import faulthandler
import marshal
import signal
import socket
import sys

from .channel import Channel
from .runner import Runner

if __name__ == "__main__":
    # why: Ctrl-C in a terminal reaches the whole group; the server ends its models itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    connection = socket.socket(fileno=int(sys.argv[1]))
    # why marshal: read in a third of the time, and what the server writes may be trusted.
    sys.exit(Runner(Channel(connection, load=marshal.loads)).run())
