"""`python -m worker_runtime.agent`: runs the node agent of this machine."""

import asyncio
import logging
import os
import sys

from wire.proof import ProofDamaged
from worker_runtime.agent import agent, settings
from worker_runtime.agent.folder import FolderTaken
from worker_runtime.agent.identity import CannotJoin
from worker_runtime.agent.trust import ControlPlaneUnknown

logger = logging.getLogger("worker_runtime.agent")


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
