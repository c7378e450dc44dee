"""`python -m node_agent`: runs the node agent of this machine."""

import asyncio
import logging
import os
import sys

from node_agent import agent, settings
from node_agent.folder import FolderTaken
from node_agent.identity import CannotJoin
from node_agent.trust import ControlPlaneUnknown
from wire.proof import ProofDamaged

logger = logging.getLogger("node_agent")


def main() -> int:
    """0 after a stop that was asked for, 2 for a wrong setting, 1 when the node cannot join, or
    another agent runs on its folder."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    os.umask(0o077)  # journals hold the deployments' secrets, logs what models print
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        asyncio.run(agent.run(settings.load()))
    except settings.SettingsError as error:
        logger.error("%s", error)
        return 2
    except (CannotJoin, ControlPlaneUnknown, FolderTaken, ProofDamaged, OSError) as error:
        logger.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
