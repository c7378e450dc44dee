"""`python -m worker_runtime.agent`: runs the node agent of this machine."""

import asyncio
import logging
import sys

from worker_runtime.agent import agent, settings
from worker_runtime.agent.identity import CannotJoin
from worker_runtime.agent.trust import ControlPlaneUnknown

logger = logging.getLogger("worker_runtime.agent")


def main() -> int:
    """0 after a stop that was asked for, 1 when the node cannot join, 2 for a wrong setting."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        chosen = settings.load()
        chosen.folder.mkdir(parents=True, exist_ok=True)
        # why ours alone: journals hold the deployments' secrets, logs what models print
        chosen.folder.chmod(0o700)
        asyncio.run(agent.run(chosen))
    except settings.SettingsError as error:
        logger.error("%s", error)
        return 2
    except (CannotJoin, ControlPlaneUnknown, OSError) as error:
        logger.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
