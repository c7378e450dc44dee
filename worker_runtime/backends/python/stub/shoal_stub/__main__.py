"""``python -m shoal_stub FD BYTES``: one model instance, told by the socket with that descriptor.

BYTES bound its address space; 0 is no bound.
"""

import faulthandler
import marshal
import resource
import signal
import socket
import sys

from .channel import Channel
from .runner import Runner

if __name__ == "__main__":
    # why: Ctrl-C in a terminal reaches the whole group; the server ends its models itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    limit = int(sys.argv[2])
    if limit:
        # why itself: in a sandbox no process may set the limits of another
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    connection = socket.socket(fileno=int(sys.argv[1]))
    # why marshal: read in a third of the time, and what the server writes may be trusted.
    sys.exit(Runner(Channel(connection, load=marshal.loads)).run())
