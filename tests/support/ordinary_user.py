"""Runs a program as a user who is nobody special, also where only root reaches this Python."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from node_agent import readable
from node_agent.launcher.plan import Plan, dump
from node_agent.sandbox import LAUNCH

USER = 65_534
# The filter of replicas, but for the call by which the agent starts them.
CONTAIN = """
import os, sys
sys.path.insert(0, sys.argv[1])
from node_agent.launcher import calls, seccomp
del calls.REFUSED["setsid"]
seccomp.install(sockets=True, truncate=True)
os.execv(sys.argv[2], sys.argv[2:])
"""
CHECKOUT = Path(__file__).parents[2]


def as_ordinary_user(
    argv: list[str], *, home: Path, environment: Mapping[str, str], contained: bool = False
) -> tuple[list[str], bytes]:
    """The command line and its standard input; `home` is given to that user.

    Only the view is arranged: what the user may do there is left to the kernel. `contained`: it may
    make no namespaces, as in a container without further rights.
    """
    if os.geteuid():
        return argv, b""
    for path in (home, *home.rglob("*")):
        os.chown(path, USER, USER)
    read, _ = readable.programs(environment)
    plan = Plan(
        environment=dict(environment),
        folder=str(home),
        read=(*read, str(CHECKOUT)),
        write=(str(home),),
        share=("/dev/shm", "/proc"),  # the maps of user namespaces are written there
        hidden=(),
        landlock=False,
        seccomp=False,
        user=USER,
    )
    contain = [sys.executable, "-S", "-c", CONTAIN, str(CHECKOUT)] if contained else []
    return [*LAUNCH, *contain, *argv], dump(plan)
