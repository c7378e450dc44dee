"""`python -m node_agent.leave`: takes this node out of the fleet before its machine, or pod, goes.

What runs here answers elsewhere first, then the control plane forgets the node. The agent runs on
meanwhile and serves; whoever ends it waits for this program, as a preStop hook of Kubernetes does.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from node_agent import identity, settings, trust
from node_agent.client import ControlClient, ControlError, CredentialRefused
from node_agent.identity import CannotJoin
from node_agent.settings import AgentSettings
from node_agent.trust import ControlPlaneUnknown
from wire import proof
from wire.proof import ProofDamaged

logger = logging.getLogger("node_agent.leave")

ASK_S = 1.0
LATE_S = 60.0  # after the deadline what is left is stopped, which takes its own drain


async def leave(
    client: ControlClient,
    *,
    deadline_s: int,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Ask to be emptied, and wait until nothing runs here. False: it took too long."""
    until = clock() + deadline_s + LATE_S
    left = -1
    while clock() < until:
        try:
            reply = await client.leave(deadline_s)
        except CredentialRefused as error:
            logger.info("Nobody knows this node any more: %s", error)
            return True
        except ControlError as error:
            logger.warning("%s", error)
        else:
            if reply.replicas != left:
                logger.info("%d replica(s) are still here", reply.replicas)
            left = reply.replicas
            if not left:
                return True
        await pause(ASK_S)
    return False


async def _client(found: AgentSettings, credential: str) -> ControlClient:
    """As the agent calls it: with the certificate that it shows, where it has shown one."""
    client = ControlClient(
        found.control_url,
        trusted=trust.kept(found.folder / "control-ca.pem") or trust.given(found.control_authority),
    )
    shown = proof.read(found.folder / "certificate.json")
    client.use_credential(credential)
    if shown is not None and shown.used:
        await client.move(shown.url, shown.context())
    return client


async def _leave(found: AgentSettings, deadline_s: int) -> int:
    node = identity.read(found.folder / "credential.json")
    if node is None:
        logger.info("This node has not joined, so there is nothing to leave.")
        return 0
    client = await _client(found, node.credential)
    try:
        if not await leave(client, deadline_s=deadline_s):
            logger.error("Something still runs here after %d s.", deadline_s)
            return 1
    finally:
        await client.close()
    _forget(found.folder)
    return 0


def _forget(folder: Path) -> None:
    """Who starts on this folder next joins anew."""
    for name in ("credential.json", "certificate.json"):
        (folder / name).unlink(missing_ok=True)


def main() -> int:
    """0 when nothing runs here any more, 1 when something does, 2 for a wrong setting."""
    parser = argparse.ArgumentParser(prog="python -m node_agent.leave", description=__doc__)
    parser.add_argument(
        "--deadline", type=int, default=600, help="seconds; then what is left is stopped"
    )
    options = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return asyncio.run(_leave(settings.load(), options.deadline))
    except settings.SettingsError as error:
        logger.error("%s", error)
        return 2
    except (CannotJoin, ControlPlaneUnknown, ProofDamaged, OSError) as error:
        logger.error("%s", error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
