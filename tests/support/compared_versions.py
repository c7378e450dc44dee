"""Two versions of a rollout that answer as a test says, in the place of the gateway."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from rest_framework.test import APIClient

from controlplane.console.inference import Answer, Call, InferenceFailed, Target
from controlplane.console.tensors import Tensor
from controlplane.deployments.models import Endpoint
from controlplane.deployments.services.keys import keys_create
from controlplane.golden import asking
from controlplane.operations.models import Rollout
from tests.support.placed_replicas import blue_and_green

ROLLOUTS = "/api/v1/endpoints/digits/rollouts"
PLAN: dict[str, Any] = {
    "deployment": "green",
    "steps": [{"percent": 10, "hold_s": 600}, {"percent": 100}],
    "compare": {"per_minute": 30},
}


class Versions:
    """What the gateway would bring back of each deployment."""

    def __init__(self) -> None:
        self.scores: dict[str, list[float]] = {"blue": [0.1, 0.9], "green": [0.1, 0.9]}
        self.fails: dict[str, InferenceFailed] = {}
        self.asked: list[str] = []
        self.calls: list[Call] = []

    async def __call__(self, _: Any, target: Target, call: Call, __: float) -> Answer:
        self.asked.append(target.deployment)
        self.calls.append(call)
        if target.deployment in self.fails:
            raise self.fails[target.deployment]
        raw = np.array(self.scores[target.deployment], "<f4").tobytes()
        return Answer((Tensor("y", "FP32", (1, 2), raw),), "1", 100.0, None, target.deployment)


def versions_of(monkeypatch: pytest.MonkeyPatch) -> Versions:
    blue_and_green()
    keys_create(Endpoint.objects.get())
    made = Versions()
    monkeypatch.setattr(asking, "infer_http", made)
    return made


def begin(api: APIClient, **changes: Any) -> str:
    answer = api.post(ROLLOUTS, PLAN | changes, format="json")
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def later(after_s: float) -> datetime:
    return datetime.fromtimestamp(Rollout.objects.get().memory["since"] + after_s, UTC)


def shown(api: APIClient) -> dict[str, Any]:
    found: dict[str, Any] = api.get(ROLLOUTS).json()["items"][0]
    return found
