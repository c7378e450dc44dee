"""Background jobs by name. Services enqueue; each app's ``tasks.py`` registers the names.

The arrow runs one way, tasks -> services, so services never import tasks. A job is a hint: the
truth is in the rows, beat re-sends what matters, so a lost or doubled message does no harm.
"""

import logging
from typing import Any

from celery import current_app
from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction

from controlplane.core.breaker import Breaker

logger = logging.getLogger(__name__)

broker = Breaker(rest_s=5.0)


def alongside(*names: str) -> None:
    """Do these jobs in the one that is being done: as jobs of their own, short ones take several
    times what they do, on a machine at rest as well. One that fails does not keep the others."""
    for name in names:
        try:
            current_app.tasks[name].run()
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            logger.exception("Job %s failed, the next time tries again", name)


def enqueue_on_commit(
    name: str, *, queue: str = "control", expires_s: int = 60, **kwargs: Any
) -> None:
    """Send job ``name`` with ``kwargs`` (ids and generations only) once the transaction commits."""

    transaction.on_commit(lambda: enqueue(name, queue=queue, expires_s=expires_s, **kwargs))


def enqueue(name: str, *, queue: str = "control", expires_s: int = 60, **kwargs: Any) -> None:
    """Send it now: for what was committed already."""
    if broker.resting:
        return
    try:
        current_app.send_task(
            name, kwargs=kwargs, queue=queue, expires=expires_s, retry=False, ignore_result=True
        )
    except Exception as error:
        broker.failed()
        logger.warning("Job %s not sent, the periodic pass will do it: %s", name, error)
