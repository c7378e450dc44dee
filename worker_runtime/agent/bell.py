"""The bell: a Celery worker in a thread that only says "look now". Everything works without it."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.worker import WorkController, state
from kombu import Queue

from wire import broker
from worker_runtime.agent.backoff import Backoff

logger = logging.getLogger(__name__)

JOIN_S = 3.0


class Bell:
    """`ring` is called from the worker's thread for each message."""

    def __init__(self, *, broker_url: str, queue: str, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._stopping = threading.Event()
        self._app = _app(broker_url, queue)
        self._app.task(name="node.reconcile", ignore_result=True)(self._reconcile)
        self._thread = threading.Thread(target=self._work, name="bell", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the worker to end and wait a moment; the thread does not hold up the process."""
        self._stopping.set()
        setattr(state, "should_stop", 0)  # noqa: B010 - the stubs know only None
        self._thread.join(JOIN_S)

    def _reconcile(self, node_id: str = "", generation: int = 0) -> None:
        logger.debug("Rung for node %s, generation %d", node_id, generation)
        self._ring()

    def _work(self) -> None:
        """Run a worker for ever; Celery reconnects by itself, this covers what ends it anyway."""
        delays = Backoff(first_s=1.0, limit_s=30.0)
        while not self._stopping.is_set():
            try:
                worker: Any = WorkController(
                    app=self._app,
                    pool_cls="solo",
                    concurrency=1,
                    without_heartbeat=True,
                    without_mingle=True,
                    without_gossip=True,
                    hostname=f"agent@{self._app.conf.task_default_queue}",
                )
                worker.start()
            except Exception:
                logger.exception("The bell broke; desired state is polled meanwhile")
            self._stopping.wait(delays.next())


def _app(broker_url: str, queue: str) -> Celery:
    app = Celery("shoal-node", set_as_current=False)
    app.conf.update(
        broker_url=broker.for_celery(broker_url),
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            # why: a connection that died silently is noticed and opened again.
            "health_check_interval": 10,
            "socket_keepalive": True,
            "socket_connect_timeout": 5,
        },
        task_queues=[Queue(queue)],
        task_default_queue=queue,
        task_ignore_result=True,
        accept_content=["json"],
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    return app
