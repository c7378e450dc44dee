"""Where signatures are required, nothing unsigned is deployed, tried, gone back to or retried."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.deployments.models import TryLoad
from controlplane.operations.models import Operation
from controlplane.registry.models import ConfigRevision, ModelVersion, UnpackedFile, Upload
from controlplane.registry.types import manifest_digest
from tests.support.minisign_files import signed, text
from tests.support.registered_models import CONFIG, model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.statement import files_digest

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"
EDITED = CONFIG + "max_batch_size: 4\n"


@pytest.fixture(autouse=True)
def trusted(admin_api: APIClient, settings: Settings) -> None:
    settings.SHOAL_SIGNATURE_POLICY = "require"
    body = {"public_key": text("plain.pub"), "comment": "Ada"}
    assert admin_api.post("/api/v1/signing-keys", body).status_code == 201


@pytest.fixture
def node() -> SimulatedNode:
    return SimulatedNode()


def sign(api: APIClient, version: int = 1, **body: Any) -> None:
    path = f"/api/v1/models/digits/versions/{version}/signatures"
    query = f"?config_revision={body['config_revision']}" if body else ""
    digest = api.get(f"{path}{query}").json()["digest"]
    assert api.post(path, {"signature": signed(digest), **body}).status_code == 201


def edit(version: ModelVersion, config: str = EDITED) -> ConfigRevision:
    return ConfigRevision.objects.create(
        model_version=version, number=1, configs={"digits": config}, author="dora"
    )


def serve(api: APIClient, node: SimulatedNode, **body: Any) -> None:
    answer = api.post("/api/v1/deploy", {"model": "digits", **body})
    assert answer.status_code == 202, answer.content
    node.bring_up()
    gateway_confirms()


def refused(answer: Any) -> dict[str, Any]:
    problem: dict[str, Any] = answer.json()
    assert (answer.status_code, problem.get("code")) == (409, "SignatureRequired"), problem
    return problem


START: dict[str, tuple[str, str, dict[str, Any]]] = {
    "deploy": ("POST", "/api/v1/deploy", {"model": "digits", "version": "2", "endpoint": "other"}),
    "a deployment": (
        "POST",
        "/api/v1/endpoints/digits/deployments",
        {"name": "green", "model": "digits", "version": "2"},
    ),
    "a deployment as a file": (
        "PUT",
        "/api/v1/endpoints/digits/deployments/green",
        {"model": "digits", "version": "2"},
    ),
    "another version, as a file": ("PUT", BLUE, {"model": "digits", "version": "2"}),
    "an update": ("POST", f"{BLUE}/update", {"version": "2"}),
    "a change": ("PATCH", BLUE, {"version": "2"}),
    "a trial": ("POST", "/api/v1/try-loads", {"model": "digits", "version": "2"}),
}


@pytest.mark.parametrize(("method", "path", "body"), START.values(), ids=START)
def test_nothing_unsigned_is_started(
    api: APIClient, node: SimulatedNode, method: str, path: str, body: dict[str, Any]
) -> None:
    model_register(content=b"first")
    sign(api)
    serve(api, node)
    second = model_register(content=b"second")
    before = Operation.objects.count(), TryLoad.objects.count()
    ask = getattr(api, method.lower())
    problem = refused(ask(path, body, format="json"))
    digest = manifest_digest(second.manifest())
    assert (problem["digest"], digest in problem["detail"]) == (digest, True)
    assert problem["hints"][0] == (
        "Run: shoal model sign --name digits --version 2 --config-revision 0 --key FILE"
    )
    assert (Operation.objects.count(), TryLoad.objects.count()) == before
    sign(api, 2)
    assert ask(path, body, format="json").status_code in (200, 201, 202)


def test_a_signature_of_the_files_is_none_of_an_edited_configuration(
    api: APIClient, node: SimulatedNode
) -> None:
    version = model_register()
    sign(api)
    edit(version)
    problem = refused(api.post("/api/v1/deploy", {"model": "digits"}))
    assert problem["config_revision"] == 1
    assert "with configuration revision 1 is not signed" in problem["detail"]
    assert "--config-revision 1" in problem["hints"][0]
    refused(api.post("/api/v1/try-loads", {"model": "digits"}))
    sign(api, config_revision=1)
    serve(api, node, config_revision=1)
    (replica,) = node.desired().replicas
    assert replica.inline_files == {"digits/config.pbtxt": EDITED}


def test_texts_that_are_not_saved_are_not_tried(api: APIClient, node: SimulatedNode) -> None:
    model_register()
    sign(api)
    trial = {"model": "digits", "configs": {"digits": EDITED}}
    problem = refused(api.post("/api/v1/try-loads", trial, format="json"))
    assert "Save the edited configuration" in problem["hints"][0]
    trial["configs"] = {"digits": CONFIG}  # what the signed file says
    assert api.post("/api/v1/try-loads", trial, format="json").status_code == 202


def test_an_upload_is_tried_only_with_bytes_that_somebody_signed(
    api: APIClient, node: SimulatedNode, deployer: User
) -> None:
    version = model_register()
    found = {"name": "digits", "backend": "onnxruntime", "config_text": CONFIG, "code": []}
    upload = Upload.objects.create(
        id="1" * 32,
        filename="digits.zip",
        size=1,
        state=Upload.State.READY,
        inspection={"models": [found], "problems": []},
        created_by=deployer,
        expires_at=timezone.now() + timedelta(days=1),
    )
    UnpackedFile.objects.bulk_create(
        UnpackedFile(upload=upload, **entry) for entry in version.manifest()
    )
    trial = {"upload_id": upload.pk}
    problem = refused(api.post("/api/v1/try-loads", trial))
    assert problem["hints"][0] == "Register it as a version, and have that signed."
    sign(api)
    edited = {**trial, "configs": {"digits": EDITED}}
    refused(api.post("/api/v1/try-loads", edited, format="json"))
    answer = api.post("/api/v1/try-loads", trial)
    assert answer.status_code == 202, answer.content


def unsign(admin: APIClient) -> None:
    (key,) = admin.get("/api/v1/signing-keys").json()["items"]
    assert admin.delete(f"/api/v1/signing-keys/{key['key_id']}").status_code == 204


def test_a_removed_key_counts_for_going_back_but_stops_nothing(
    api: APIClient, admin_api: APIClient, node: SimulatedNode
) -> None:
    for number, content in enumerate((b"first", b"second"), 1):
        model_register(content=content)
        sign(api, number)
    serve(api, node, version="1")
    assert api.post(f"{BLUE}/update", {"version": "2"}).status_code == 202
    node.bring_up()
    gateway_confirms()
    gateway_confirms()
    unsign(admin_api)
    for body in ({"revision": 1}, {}):
        assert refused(api.post(f"{BLUE}/rollback", body))["version"] == 1
    assert api.get(BLUE).json()["version"] == 2
    (replica,) = node.desired().replicas
    assert len(replica.signatures) == 1, "the node trusts keys of its own"
    assert api.post(f"{BLUE}/scale", {"instance_count": 2}).status_code == 202


@pytest.mark.parametrize("first", [True, False], ids=["a first deployment", "an update"])
def test_a_retry_asks_again(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, first: bool
) -> None:
    model_register(content=b"first")
    sign(api)
    if first:
        operation = api.post("/api/v1/deploy", {"model": "digits"}).json()
    else:
        serve(api, node)
        model_register(content=b"second")
        sign(api, 2)
        operation = api.post(f"{BLUE}/update", {"version": "2"}).json()
    path = f"/api/v1/operations/{operation['id']}"
    assert api.post(f"{path}/cancel").json()["state"] == "Canceled"
    unsign(admin_api)
    refused(api.post(f"{path}/retry"))


def off(settings: Settings) -> None:
    settings.SHOAL_SIGNATURE_POLICY = "off"


def untouched(settings: Settings) -> None:
    del settings


@pytest.mark.parametrize(("policy", "status"), [(off, 202), (untouched, 409)])
def test_the_policy_decides(
    api: APIClient,
    node: SimulatedNode,
    settings: Settings,
    policy: Callable[[Settings], None],
    status: int,
) -> None:
    policy(settings)
    model_register()
    assert api.post("/api/v1/deploy", {"model": "digits"}).status_code == status


@pytest.mark.parametrize("edited", [False, True])
def test_a_node_is_told_what_it_needs_to_verify(
    api: APIClient, node: SimulatedNode, edited: bool
) -> None:
    version = model_register()
    if edited:
        edit(version)
    sign(api)
    serve(api, node)
    assert api.post("/api/v1/try-loads", {"model": "digits"}).status_code == 202
    wanted = node.desired().replicas
    assert {replica.trial for replica in wanted} == {False, True}
    for replica in wanted:
        files = ((file.path, file.size, file.sha256) for file in replica.files)
        digest = files_digest(files, replica.inline_files)
        assert replica.signatures == (signed(digest),)


@pytest.mark.parametrize("serves", [True, False], ids=["serving", "never came up"])
def test_an_update_of_what_was_deployed_unsigned_asks(
    api: APIClient, node: SimulatedNode, settings: Settings, serves: bool
) -> None:
    settings.SHOAL_SIGNATURE_POLICY = "off"
    model_register()
    operation = api.post("/api/v1/deploy", {"model": "digits"}).json()
    if serves:
        node.bring_up()
        gateway_confirms()
    else:
        api.post(f"/api/v1/operations/{operation['id']}/cancel")
    settings.SHOAL_SIGNATURE_POLICY = "require"
    change = {"environment": {"APP_A": "1"}}
    refused(api.post(f"{BLUE}/update", change))
    refused(api.put(BLUE, {"model": "digits", "version": "1", **change}))
    sign(api)
    assert api.post(f"{BLUE}/update", change).status_code == 202
