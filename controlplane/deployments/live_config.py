"""The configuration that a runtime really serves with, asked of one that does."""

from typing import Any, Final

import httpx

from controlplane.core.answers import PLAIN, json_answer, read_answer
from controlplane.core.errors import Conflict, Unavailable
from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.selectors.routing import reachable_at
from controlplane.deployments.types import Desired, ReplicaState

TIMEOUT_S: Final = 5.0
LARGEST_ANSWER: Final = 4 * 2**20


def config_served(deployment: Deployment, model: str, *, client: httpx.Client | None = None) -> Any:
    """What ``/v2/models/<model>/config`` of a ready replica says. Raises Conflict, Unavailable."""
    replica = _ready(deployment)
    host = reachable_at(replica.observed) if replica is not None else None
    if replica is None or host is None:
        raise Conflict(
            f"No replica of {deployment} is ready: only one that is can tell.",
            code="ResourceNotReady",
            hints=("Try it: POST /try-loads answers for a version that does not run.",),
        )
    port = int(replica.observed["http_port"])
    url = httpx.URL(scheme="http", host=host, port=port, path=f"/v2/models/{model}/config")
    try:
        with (
            client or httpx.Client(timeout=TIMEOUT_S, trust_env=False) as session,
            session.stream("GET", url, headers=PLAIN) as answer,
        ):
            found = json_answer(read_answer(answer, most=LARGEST_ANSWER, seconds=TIMEOUT_S))
    except (httpx.HTTPError, ValueError) as error:
        raise Unavailable(
            f"The replica on {replica.node.name} cannot be asked: {error}",
            code="ResourceNotReady",
            hints=("Look at the replica's log, and whether its node reports.",),
        ) from error
    if answer.status_code != httpx.codes.OK:
        said = found.get("error") if isinstance(found, dict) else None
        raise Unavailable(str(said or f"It answered {answer.status_code}."))
    return found


def _ready(deployment: Deployment) -> Replica | None:
    rows = deployment.replicas.filter(desired=Desired.RUNNING, state=ReplicaState.READY)
    return rows.select_related("node").exclude(observed__http_port=None).first()
