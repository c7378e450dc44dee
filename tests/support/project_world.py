"""Two projects with one of everything in each, told apart by a word in every name and id."""

import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from django.utils import timezone

from controlplane.accounts.models import Membership, Project, User
from controlplane.alerts.models import Alert, ObjectiveRow, Silence
from controlplane.capture.models import CaptureBaseline, CapturedFile, CaptureHour
from controlplane.capture.services import blob_name
from controlplane.console.models import SavedCase
from controlplane.deployments.models import (
    Deployment,
    Endpoint,
    LoadSweep,
    Replica,
    TryLoad,
    Tuning,
)
from controlplane.deployments.services.endpoints import endpoint_create
from controlplane.drift import Summary
from controlplane.environments.models import EnvironmentVersion
from controlplane.metrics.services import gateway_samples_ingest
from controlplane.nodes.models import Node
from controlplane.operations.models import Operation, Rollout
from controlplane.registry.models import (
    AnnouncedFile,
    ConfigRevision,
    Draft,
    Model,
    ModelAlias,
    UnpackedFile,
    Upload,
)
from controlplane.registry.states import UploadState
from controlplane.registry.stores import blob_store
from tests.support.deployment_rows import deployment_add
from tests.support.people import make_user
from tests.support.registered_models import model_register
from wire.samples import GatewaySampleBatch, SeenRequest

OURS: Final = "alpha"
THEIRS: Final = "bravo"
CAPTURE: Final = (CapturedFile, CaptureHour, CaptureBaseline)


@dataclass(frozen=True)
class Things:
    """What fills the places of a route, by the name of the place, in the one project."""

    word: str

    def place(self, name: str, route: str) -> str:
        """Raises KeyError for a place that nobody has filled yet: say here what stands there."""
        if name == "name" and "<str:kind>" in route:
            return f"{self.word}-endpoint"
        if name == "name":
            return f"{self.word}-{route.partition('/')[0].removesuffix('s')}"
        return {
            "endpoint": f"{self.word}-endpoint",
            "deployment": f"{self.word}-blue",
            "version": "1",
            "alias": f"{self.word}-champion",
            "repo_model": f"{self.word}-model",
            "number": "1",
            "path": f"{self.word}-model/config.pbtxt",
            "upload_id": f"{self.word}-upload",
            "sha256": "0" * 64,
            "draft_id": f"{self.word}-draft",
            "case_id": f"{self.word}-case",
            "try_load_id": f"{self.word}-trial",
            "sweep_id": f"{self.word}-sweep",
            "tuning_id": f"{self.word}-tuning",
            "operation_id": f"{self.word}-operation",
            "rollout_id": f"{self.word}-rollout",
            "objective": f"{self.word}-objective",
            "alert_id": f"{self.word}-alert",
            "silence_id": f"{self.word}-silence",
            "file_id": f"{self.word}-captured",
            "request_id": f"{self.word}-request",
            "rule": "queue-slow",
            "kind": "endpoint",
            "channel": "on-call",
            "delivery_id": "none",
            "project": self.word,
        }[name]


def member(project: str, role: str, name: str = "mia") -> User:
    """Somebody with a role in this project alone."""
    user = make_user(name, User.Role.MEMBER)
    Membership.objects.create(project_id=project, user=user, role=role)
    return user


def project_add(name: str) -> Things:
    """The project, and one of everything in it."""
    project = Project.objects.create(name=name, created_by="ada")
    things, now = Things(name), timezone.now()
    person = make_user(f"{name}-person", User.Role.MEMBER)
    model = Model.objects.create(name=f"{name}-model", project=project)
    version = model_register(model.name, content=f"{name} weights".encode())
    ModelAlias.objects.create(
        model=model, name=f"{name}-champion", version=version, set_by=person.username
    )
    ConfigRevision.objects.create(
        model_version=version,
        number=1,
        configs={model.name: ""},
        code={model.name: []},
        author="ada",
    )
    EnvironmentVersion.objects.create(
        name=f"{name}-environment", version=1, project=project, digest=name, created_by="ada"
    )
    upload = Upload.objects.create(
        id=f"{name}-upload",
        filename=f"{name}.zip",
        size=1,
        project=project,
        state=UploadState.READY,
        inspection={"models": [], "problems": [], "code": []},
        created_by=person,
        expires_at=now + timedelta(days=1),
    )
    AnnouncedFile.objects.create(
        upload=upload, path=f"{name}.txt", size=1, sha256="0" * 64, arrived=1
    )
    UnpackedFile.objects.create(upload=upload, path=f"{name}.txt", size=1, sha256="0" * 64)
    Draft.objects.create(id=f"{name}-draft", owner=person, title=name)
    endpoint = endpoint_create(name=f"{name}-endpoint", actor="ada", now=now, project=name)
    deployment = deployment_add(endpoint, version, f"{name}-blue", provisioning_state="Succeeded")
    Endpoint.objects.filter(pk=endpoint.pk).update(traffic={deployment.name: 100})
    node = Node.objects.get_or_create(id="n1", defaults={"name": "n1", "last_seen_at": now})[0]
    Replica.objects.create(
        id=f"{name}-replica",
        deployment=deployment,
        revision=deployment.revision,
        ordinal=0,
        node=node,
        state="ready",
        last_report_at=now,
    )
    Operation.objects.create(
        id=f"{name}-operation",
        kind="deploy",
        project=project,
        endpoint=endpoint.name,
        deployment=deployment.name,
        state="Succeeded",
        deadline_at=now,
        finished_at=now,
        created_by=person.username,
    )
    Rollout.objects.create(
        id=f"{name}-rollout",
        endpoint=endpoint,
        candidate=deployment.name,
        revision=1,
        state="succeeded",
        plan={"min_requests": 1, "guardrails": {}},
        previous_traffic={},
        stages=[],
        memory={},
        samples_until=0,
        created_by=person.username,
    )
    ObjectiveRow.objects.create(
        endpoint=endpoint,
        name=f"{name}-objective",
        kind="availability",
        target_percent=99.0,
        window_days=28,
        created_by=person.username,
    )
    _capture_add(deployment, name)
    Alert.objects.create(
        id=f"{name}-alert",
        rule="queue-slow",
        subject=f"endpoint/{endpoint.name}",
        part=deployment.name,
        project=project,
        severity="ticket",
        state="firing",
        summary=f"Requests to {deployment.name} wait",
        looked_at=now,
        started_at=now,
    )
    Silence.objects.create(
        id=f"{name}-silence",
        project=project,
        subject=f"endpoint/{endpoint.name}",
        reason=f"{name} is tested",
        starts_at=now,
        ends_at=now + timedelta(hours=1),
        created_by=person.username,
    )
    SavedCase.objects.create(
        id=f"{name}-case",
        name=f"{name} case",
        project=project,
        model=model.name,
        endpoint=endpoint.name,
        inputs=[],
        created_by=person.username,
    )
    TryLoad.objects.create(
        id=f"{name}-trial",
        model_version=version,
        node=node,
        node_name="n1",
        deadline_at=now,
        created_by=person.username,
    )
    LoadSweep.objects.create(
        id=f"{name}-sweep",
        deployment=deployment,
        revision=deployment.revision,
        replica=f"{name}-replica",
        node_name="n1",
        plan={"model": model.name, "mode": "rate", "levels": [1], "seconds": 1},
        state="Succeeded",
        deadline_at=now,
        created_by=person.username,
    )
    Tuning.objects.create(
        id=f"{name}-tuning",
        deployment=deployment,
        revision=deployment.revision,
        model=model.name,
        node_name="n1",
        plan={"model": model.name, "mode": "rate", "levels": [1], "seconds": 1},
        space={
            "instances": [1, 2],
            "batch_sizes": [0],
            "delays_us": [0],
            "now": {"instances": 1, "batch": 0, "delay_us": 0},
        },
        budget=2,
        state="Succeeded",
        deadline_at=now,
        created_by=person.username,
    )
    return things


def _capture_add(deployment: Deployment, name: str) -> None:
    now = timezone.now()
    CapturedFile.objects.create(
        id=f"{name}-captured",
        deployment=deployment,
        replica=f"{name}-replica",
        size=1,
        records=1,
        first_at=now,
        last_at=now,
        expires_at=now + timedelta(days=1),
    )
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"\n")
    blob_store().put(Path(file.name), blob_name(f"{name}-captured"))
    endpoint, at = deployment.endpoint.name, now.timestamp() + 1
    seen = SeenRequest(
        f"{name}-request", endpoint, deployment.name, at, "slow", "POST", "/", 200, "2xx"
    )
    gateway_samples_ingest(GatewaySampleBatch((), (seen,)))
    hour = CaptureHour(deployment=deployment, hour=now.replace(minute=0, second=0, microsecond=0))
    baseline = CaptureBaseline(deployment=deployment, source=f"{name} file", set_by=name)
    for row in (hour, baseline):
        row.summary = Summary(1, {})
        row.save()


def counts() -> dict[str, int]:
    """How many rows there are of what people of a project may make or remove."""
    kinds = (Model, Endpoint, Deployment, EnvironmentVersion, Upload, Operation, Rollout)
    return {
        kind.__name__: kind._default_manager.count()
        for kind in (
            *kinds,
            SavedCase,
            TryLoad,
            LoadSweep,
            Draft,
            ObjectiveRow,
            Alert,
            Silence,
            *CAPTURE,
        )
    }
