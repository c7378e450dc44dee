"""The Celery application: queues, limits, and the one table of periodic jobs.

Tasks are hints. Truth is in the rows; a lost, late or doubled message does no harm.
"""

import gc
import os
import time
from collections.abc import Mapping
from typing import Any

from celery import Celery
from celery.signals import (
    before_task_publish,
    celeryd_init,
    task_received,
    worker_before_create_process,
    worker_process_init,
    worker_ready,
)
from celery.worker import state
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings")

# why none: Celery's integration would run Django's checks in each worker and in beat, which imports
# every view: 30 MB each that no job needs. `migrate` has run them before anything starts.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

from django.conf import settings

from controlplane.core.without import without

# why: Redis' client reads OpenTelemetry's, 4 MB in each process, for counts that nobody asked for
with without("opentelemetry.sdk.metrics"):
    import redis  # noqa: F401

from controlplane.config import broker, watchdog
from controlplane.core import fanout

CONTROL, INGEST = "control", "ingest"
# By workers at the broker, when no job came. A worker that is ended waits for the answer.
ASKED_AGAIN_S = 2
# Jobs that read, write or remove models' bytes, or wait for what models answer. They have workers
# of their own: however many take their time, those that heal and converge are done. All others are
# jobs of seconds.
INGEST_TASKS = (
    "registry.ingest",
    "registry.assess_versions",
    "registry.expire_uploads",
    "registry.collect_blobs",
    "golden.rollouts",
    "golden.rollout",
    "golden.candidate",
    "golden.comparison",
    "capture.summarise",
    "capture.compare",
    "capture.expire",
    "events.archive",
)


def limits(seconds: int) -> dict[str, int]:
    """A task is told a little before, and then ended with its process."""
    return {"time_limit": seconds, "soft_time_limit": seconds - max(5, seconds // 60)}


def every(seconds: float, task: str, queue: str = "", **kwargs: Any) -> dict[str, Any]:
    """A periodic job; one that no worker took before the next is due is dropped, not piled up."""
    queue = queue or (INGEST if task in INGEST_TASKS else CONTROL)
    return {
        "task": task,
        "kwargs": kwargs,
        "schedule": seconds,
        "options": {"queue": queue, "expires": max(seconds, 5)},
    }


BEAT_SCHEDULE = {
    "show that the control queue moves": every(10, "system.pulse", "control", of="control"),
    "show that the ingest queue moves": every(10, "system.pulse", "ingest", of="ingest"),
    # It also notices silent gateways, and sends what has something to do only while there are
    # rollouts, policies, or events to seal: a job that finds nothing costs an idle machine as much
    # as one that does.
    "converge deployments": every(5, "deployments.reconcile"),
    # It also sends the job that tells it again, where somebody could not be told at once.
    "look for what should be told": every(15, "alerts.look"),
    "drop alerts of long ago": every(3600, "alerts.prune"),
    # why so rarely: each file that comes sends it, too
    "make statistics of captured data": every(15, "capture.summarise"),
    "compare captured data with its baselines": every(
        min(60, settings.SHOAL_DRIFT_INTERVAL_S), "capture.compare"
    ),
    "drop captured data of long ago": every(900, "capture.expire"),
    # It also resumes ingests whose worker died.
    "wake the nodes again": every(20, "deployments.wake_nodes"),
    "assess versions of before an upgrade": every(60, "registry.assess_versions"),
    # why so rarely: the tick sends it where there is something to seal; this is for anchors
    "seal the event log": every(60, "core.seal_events"),
    "move events of long ago to archives": every(3600, "events.archive"),
    "drop old uploads": every(900, "registry.expire_uploads"),
    "drop blobs nobody uses": every(6 * 3600, "registry.collect_blobs"),
    "drop operations that ended long ago": every(3600, "operations.prune"),
    "drop old answers to repeated requests": every(3600, "accounts.prune"),
    "roll up the minutes that ended": every(30, "metrics.roll_up"),
    "drop old samples and log lines": every(300, "metrics.prune"),
    "drop log lines of what was deleted": every(3600, "deployments.logs_sweep"),
}

# Jobs for which a worker keeps its connections. Celery closes them after each, which with SQLite is
# a fifth of what an idle worker does; one to a server may have died since, and is opened anew.
KEPT_JOBS = 100


def jobs_on_one_connection(databases: Mapping[str, Mapping[str, Any]]) -> int | None:
    """None: a new one for each job."""
    files = all("sqlite3" in one["ENGINE"] for one in databases.values())
    return KEPT_JOBS if files else None


app = Celery("shoal")
app.conf.update(
    broker_url=broker.for_celery(settings.SHOAL_REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        # why longer than any task: a message that is still being worked on must not be sent again.
        "visibility_timeout": 2 * settings.SHOAL_INGEST_TASK_LIMIT_S,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "socket_connect_timeout": 2,
        # why: a broker that is frozen takes connections and answers nothing; a REST call that rings
        # a wake-up must not hang with it. Longer than a worker waits for a job, ASKED_AGAIN_S.
        "socket_timeout": 3,
        # why so few: these bound what a REST call waits for a dead broker after its commit (kombu's
        # own defaults are six seconds of tries). Workers reconnect by another, endless policy.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
    },
    result_backend=None,
    task_ignore_result=True,
    accept_content=["json"],
    task_serializer="json",
    task_acks_late=True,
    # why not redelivered when a worker is killed: rows say what is unfinished, beat resumes it.
    task_reject_on_worker_lost=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    CELERY_DB_REUSE_MAX=jobs_on_one_connection(settings.DATABASES),
    **{
        f"task_{name}": seconds
        for name, seconds in limits(settings.SHOAL_CONTROL_TASK_LIMIT_S).items()
    },
    task_annotations={task: limits(settings.SHOAL_INGEST_TASK_LIMIT_S) for task in INGEST_TASKS},
    task_default_queue=CONTROL,
    task_create_missing_queues=True,
    task_queues=[Queue(CONTROL), Queue(INGEST)],
    timezone="UTC",
    enable_utc=True,
    beat_schedule=BEAT_SCHEDULE,
    beat_scheduler="controlplane.config.beat:LedScheduler",
    beat_schedule_filename=str(settings.SHOAL_HOME / "beat-schedule"),
)


@celeryd_init.connect
def tasks_import(**_: Any) -> None:
    """Of all apps, in workers alone: beat sends names, and so does whoever asks how workers do."""
    app.autodiscover_tasks(force=True)


@celeryd_init.connect
def wait_long(**_: Any) -> None:
    """For a job that comes a worker is woken; with nothing it asks again, once a second by default.

    why not for all: whoever waits without an event loop, as `inspect` does, would sleep as long.
    """
    app.conf.broker_transport_options = {
        **app.conf.broker_transport_options,
        "polling_interval": ASKED_AGAIN_S,
    }


@worker_before_create_process.connect
def share_what_was_read(**_: Any) -> None:
    """What was imported stays in memory once for a worker and its children: collecting garbage
    would write to each object, and so to each page."""
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def hints_kept_cheap(**_: Any) -> None:
    fanout.keep_loop()


@before_task_publish.connect
def stamp(headers: dict[str, Any] | None = None, **_unused: Any) -> None:
    """Every job says when it was sent, so that its wait can be told."""
    if headers is not None:
        headers["shoal_sent_at"] = time.time()


@worker_ready.connect
def watch(**_: Any) -> None:
    watched = watchdog.start(
        settings.SHOAL_REDIS_URL,
        tuple(app.amqp.queues.consume_from),  # those of -Q
        busy=lambda: bool(state.reserved_requests),
    )
    task_received.connect(lambda **_: watched.taken(), weak=False)
