"""Trials: what a node is asked to load, what it says, and that each ends."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import TryLoad
from controlplane.operations import services
from controlplane.registry.models import ModelVersion
from tests.support.registered_models import CONFIG, model_register
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
TRIALS = "/api/v1/try-loads"
SERVED = {"digits": {"name": "digits", "backend": "onnxruntime", "max_batch_size": 8}}


@pytest.fixture
def version() -> ModelVersion:
    return model_register()


@pytest.fixture
def node(version: ModelVersion) -> SimulatedNode:
    return SimulatedNode("local")


def start(api: APIClient, **body: Any) -> dict[str, Any]:
    answer = api.post(TRIALS, {"model": "digits", **body}, format="json")
    assert answer.status_code == 202, answer.content
    assert answer["Location"] == f"{TRIALS}/{answer.json()['id']}"
    return dict(answer.json())


def shown(api: APIClient, trial: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"{TRIALS}/{trial['id']}").json())


def test_it_is_loaded_told_and_ended(api: APIClient, node: SimulatedNode) -> None:
    trial = start(api)
    assert (trial["state"], trial["node"], trial["phase"]) == ("Queued", "local", "pending")
    (wanted,) = node.desired().replicas
    assert (wanted.trial, wanted.models, wanted.load_timeout_s) == (True, ("digits",), 300)
    assert node.client.get(f"/agent/v1/blobs/{wanted.files[0].sha256}").status_code == 200
    node.say("starting", installing="Collecting scipy")
    assert shown(api, trial)["phase"] == "installing packages"
    node.say("loading", installing="")
    assert (shown(api, trial)["state"], shown(api, trial)["phase"]) == ("Running", "loading")
    node.say("ready")  # adopted by a new agent: it has not asked the runtime yet
    assert shown(api, trial)["state"] == "Running"
    node.say("ready", configs=SERVED, log="I1121 loaded", load_seconds=1.5, memory_bytes=7)
    ended = shown(api, trial)
    assert (ended["state"], ended["effective"], ended["log"]) == (
        "Succeeded", SERVED, "I1121 loaded",
    )  # fmt: skip
    assert (ended["load_seconds"], ended["memory_bytes"], ended["error"]) == (1.5, 7, None)
    assert ended["duration_s"] > 0
    assert node.desired().replicas == ()  # so the node stops it
    assert node.client.get(f"/agent/v1/blobs/{wanted.files[0].sha256}").status_code == 404
    verbs = list(Event.objects.filter(subject="model/digits").values_list("verb", flat=True))
    assert verbs == ["trial.started", "trial.succeeded"]


def test_a_failure_tells_the_runtimes_own_words(api: APIClient, node: SimulatedNode) -> None:
    trial = start(api)
    node.desired()
    node.fail()
    ended = shown(api, trial)
    assert (ended["state"], ended["error"]["code"]) == ("Failed", "ModelLoadFailed")
    assert ended["log"] == "line 1"
    assert node.desired().replicas == ()


def test_unsaved_texts_and_revisions_are_laid_over_the_files(
    api: APIClient, node: SimulatedNode
) -> None:
    edited = CONFIG + "max_batch_size: 4\n"
    start(api, configs={"digits": edited})
    (wanted,) = node.desired().replicas
    assert wanted.inline_files == {"digits/config.pbtxt": edited}
    assert [file.path for file in wanted.files] == ["digits/1/model.onnx"]
    refused = api.post(TRIALS, {"model": "digits", "configs": {"other": ""}}, format="json")
    assert (refused.status_code, refused.json()["field"]) == (400, "configs")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "BadArgument"),
        ({"model": "digits", "upload_id": "x"}, 400, "BadArgument"),
        ({"model": "nothing"}, 404, "ModelNotFound"),
        ({"upload_id": "nothing"}, 404, "UploadNotFound"),
        ({"model": "digits", "node": "nowhere"}, 404, "NodeNotFound"),
        ({"model": "digits", "config_revision": 7}, 400, "ModelNotDeployable"),
        ({"model": "digits", "instance_type": "vast"}, 400, "InstanceTypeUnknown"),
        ({"model": "digits", "timeout_s": 1}, 400, "BadArgument"),
    ],
)
def test_what_cannot_be_tried(
    api: APIClient, node: SimulatedNode, body: dict[str, object], status: int, code: str
) -> None:
    answer = api.post(TRIALS, body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert TryLoad.objects.count() == 0


def test_no_node_can_says_why_each(
    api: APIClient, admin_api: APIClient, node: SimulatedNode
) -> None:
    admin_api.post("/api/v1/nodes/local/cordon")
    answer = api.post(TRIALS, {"model": "digits"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "OutOfCapacity")
    assert answer.json()["detail"] == "local: cordoned: it takes no new replicas"


def test_only_so_many_at_once_on_a_node(api: APIClient, node: SimulatedNode) -> None:
    for _ in range(4):
        start(api)
    answer = api.post(TRIALS, {"model": "digits"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "TooManyTrials")


def test_a_silent_node_does_not_keep_it_open(api: APIClient, node: SimulatedNode) -> None:
    trial = start(api, timeout_s=30)
    node.desired()
    node.say("downloading")
    services.operations_tick(now=timezone.now() + timedelta(seconds=29))
    assert shown(api, trial)["state"] == "Running"
    services.operations_tick(now=timezone.now() + timedelta(seconds=31))
    ended = shown(api, trial)
    assert (ended["state"], ended["error"]["code"]) == ("Failed", "DeadlineExceeded")
    assert "downloading" in ended["error"]["message"]
    services.runs_prune(now=timezone.now() + timedelta(days=2))
    assert api.get(f"{TRIALS}/{trial['id']}").status_code == 404


def test_cancelling_stops_it_once(api: APIClient, node: SimulatedNode) -> None:
    trial = start(api)
    answer = api.post(f"{TRIALS}/{trial['id']}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "Canceled")
    again = api.post(f"{TRIALS}/{trial['id']}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "OperationFinished")
    assert node.desired().replicas == ()


def test_the_list_is_the_newest_first_and_of_one_model(api: APIClient, node: SimulatedNode) -> None:
    ids = [start(api)["id"] for _ in range(2)]
    listed = api.get(TRIALS, {"model": "digits"}).json()["items"]
    assert [row["id"] for row in listed] == ids[::-1]
    assert api.get(TRIALS, {"model": "other"}).json()["items"] == []


def test_viewers_look_and_try_nothing(viewer_api: APIClient, node: SimulatedNode) -> None:
    assert viewer_api.get(TRIALS).status_code == 200
    assert viewer_api.post(TRIALS, {"model": "digits"}, format="json").status_code == 403
