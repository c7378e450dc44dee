"""The process around a server: its console, its signals, its exit code."""

import asyncio
import logging
import os
import sys
from typing import NoReturn

import uvloop

from worker_runtime import heap
from worker_runtime.config.settings import Settings
from worker_runtime.errors import RuntimeFault
from worker_runtime.observability.logging import LogControl
from worker_runtime.observability.stalls import stalls_told
from worker_runtime.protocols.admission import raise_file_limit
from worker_runtime.server import Server, prepared, refused
from worker_runtime.signals import signals_set

logger = logging.getLogger(__name__)


def serve(settings: Settings) -> int:
    """Run a server until a signal ends it; returns the exit code."""
    log = LogControl(settings.log)
    try:
        log.open()
    except OSError as error:
        sys.stderr.write(f"error: --log-file: {error}\n")
        return 1
    for warning in settings.warnings:
        logger.warning("%s", warning)
    raise_file_limit()
    heap.keep_freed()
    try:
        server = prepared(settings, log)
    except OSError as error:
        sys.stderr.write(f"error: --access-log: {error}\n")
        return 1
    except RuntimeFault as error:
        refused(error)
        return 1
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_until_signal(server))


async def _until_signal(server: Server) -> int:
    stopped, hurry = asyncio.Event(), asyncio.Event()
    with signals_set(stopped, hurry), stalls_told():
        code = await server.run(stopped, hurry=hurry)
    if server.still_loads:
        _leave(code)
    return code


def _leave(code: int) -> NoReturn:
    """End the process without waiting for threads in libraries that load a model."""
    logger.warning("a model is still being loaded, which cannot be interrupted: it is left behind")
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
