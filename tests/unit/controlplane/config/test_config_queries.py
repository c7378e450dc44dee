"""Lists take as many queries for much as for little, and read the rows that they show: every one,
generated from the API's document.

A route that answers with a list of things and has no place to be asked at fails here.
"""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from controlplane.accounts.models import BrowserSession, Membership, Project, User
from controlplane.accounts.services import token_create
from controlplane.alerts.models import Alert, Delivery
from controlplane.capture.models import CapturedFile, CaptureHour
from controlplane.capture.services import _store as captured_store
from controlplane.console.models import SavedCase
from controlplane.core import archives, events
from controlplane.deployments.models import Deployment, Endpoint, LoadSweep, Tuning
from controlplane.drift import Summary, sketch_of
from controlplane.gateway.models import Gateway
from controlplane.metrics.models import LogLine
from controlplane.metrics.services import gateway_samples_ingest, samples_ingest
from controlplane.nodes.models import Node
from controlplane.operations.models import Operation, Rollout
from controlplane.operations.types import RolloutState
from controlplane.registry.models import (
    AnnouncedFile,
    ConfigRevision,
    ModelAlias,
    ModelSignature,
    ModelVersion,
    SigningKey,
    Upload,
)
from controlplane.registry.signature_state import version_digest
from shoal.signing.secret_key import SecretKey
from tests.support.minisign_files import signed
from tests.support.people import make_user
from tests.support.registered_models import files_add, model_register
from tests.support.rows_read import rows_read
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.messages import CachedBlob, CacheReport
from wire.samples import (
    GatewaySampleBatch,
    ModelSpan,
    SampleBatch,
    SeenRequest,
    TracedRequest,
)

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
MOST = 40  # queries of any of them
UPLOAD = "a" * 32
DOCUMENT: dict[str, Any] = SchemaGenerator().get_schema(public=True)
WHERE = {
    "endpoint": "digits",
    "deployment": "blue",
    "version": "1",
    "node": "local",
    "repo_model": "digits",
    "upload_id": UPLOAD,
    "project": "default",
    "channel": "more-1",
    "rule": "queue-slow",
    "request_id": "all-the-same",
}
ASKED = {
    "metrics/query": "by=endpoint&ids=digits&metrics=request_rate",
    "capacity/what-if": "lost=local",
    "endpoints/{endpoint}/deployments/{deployment}/captured-requests/{request_id}": "at={now}",
}
# Lists that are no longer for more rows: of parts of a thing, or of fixed length.
FIXED = {
    "capacity",
    "prices",
    "endpoints/{endpoint}/deployments/{deployment}/room",
    "endpoints/{endpoint}/deployments/{deployment}/captured-requests/{request_id}",
    "alert-rules",
    "alert-rules/{rule}",
    "channels/{channel}",
    "ca",
    "environments/{name}/versions/{version}",
    "service-accounts/{name}",
    "instance-types/{name}",
    "metrics/query",
    "endpoints/{endpoint}/metrics",
    "endpoints/{endpoint}/bottlenecks",
    "endpoints/{endpoint}/deployments/{deployment}/pipeline",
    "endpoints/{endpoint}/experiment",
    "endpoints/{endpoint}/traffic",
    "models/{name}/versions/{version}/repo-models",
    "models/{name}/versions/{version}/repo-models/{repo_model}/config",
    "endpoints/{endpoint}/objectives/{objective}",
    "endpoints/{endpoint}/objectives/{objective}/history",
    "endpoints/{endpoint}/rollouts/{rollout_id}",
    "endpoints/{endpoint}/rollouts/{rollout_id}/differences",
    "operations/{operation_id}",
    "test-cases/{case_id}",
    "sweeps/{sweep_id}",
    "tunings/{tuning_id}",
    "try-loads/{try_load_id}",
    "uploads/{upload_id}",
}
# Lists that read more than two rows for each thing that comes with them, for all that there is.
READ_MORE = {
    "endpoints/{endpoint}/deployments/{deployment}/captured-requests/{request_id}",
    "capacity",
    "capacity/waste",
    "endpoints/{endpoint}/deployments/{deployment}/room",
    "endpoints/{endpoint}/objectives/{objective}",
    "endpoints/{endpoint}/objectives/{objective}/history",
    "endpoints/{endpoint}/deployments/{deployment}/logs",
    "endpoints/{endpoint}/metrics",
    "endpoints/{endpoint}/requests",
    "endpoints/{endpoint}/bottlenecks",
    "endpoints/{endpoint}/deployments/{deployment}/pipeline",
    "endpoints/{endpoint}/experiment",
    "endpoints/{endpoint}/traffic",
    "instance-types/{name}",
    "models/{name}/versions/{version}/repo-models",
    "models/{name}/versions/{version}/repo-models/{repo_model}/config",
}


def list_routes() -> list[str]:
    """Those that answer with a list, or with something that has one."""
    found = []
    for path, methods in DOCUMENT["paths"].items():
        content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        if "$ref" in schema:
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        kinds = [field.get("type") for field in schema.get("properties", {}).values()]
        if "array" in [schema.get("type"), *kinds]:
            found.append(path.removeprefix("/api/v1/"))
    return found


def things(found: Any) -> int:
    """How many objects, and items of lists, there are in an answer, at any depth."""
    if isinstance(found, dict):
        return 1 + sum(things(value) for value in found.values())
    return sum(1 + things(value) for value in found) if isinstance(found, list) else 0


class Installation:
    """Something of everything; `grow` adds one more of each."""

    def __init__(self, user: User, client_of: Callable[[User], APIClient]) -> None:
        self.api = client_of(user)
        self.user = user
        self.size = 0
        self.node = SimulatedNode()
        model_register("digits", content=b"first")
        self.post("deploy", {"model": "digits", "instance_count": 1})
        self.settle()
        Upload.objects.create(
            id=UPLOAD, filename="net", size=1, created_by=user, expires_at=timezone.now()
        )

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.api.post(f"/api/v1/{path}", body, format="json")
        assert answer.status_code < 300, (path, answer.json())
        return answer.json()

    def settle(self) -> None:
        self.node.bring_up()
        gateway_confirms()

    def grow(self) -> None:
        self.size += 1
        name = f"more-{self.size}"
        blue = "endpoints/digits/deployments/blue"
        version = model_register("digits", content=name.encode())
        model_register(name, content=name.encode())
        SimulatedNode(name)
        Node.objects.filter(name=name).update(cordoned=True)
        Gateway.objects.create(name=name)
        self.post("instance-types", {"name": name})
        self.post("deploy", {"model": name, "instance_count": 2})
        for endpoint in ("digits", name):
            path = f"endpoints/{endpoint}/deployments"
            self.post(path, {"name": f"digits-{name}", "model": "digits", "version": "1"})
        self.settle()
        self.api.patch(f"/api/v1/{blue}", {"instance_count": 1 + self.size}, format="json")
        self.settle()
        self.post(f"{blue}/update", {"environment": {"APP_N": name}})
        self.settle()
        self.post("try-loads", {"model": name, "node": "local"})
        Rollout.objects.create(
            id=f"{self.size:032}", endpoint=Endpoint.objects.get(name="digits"), candidate="blue",
            revision=1, plan={"min_requests": 200, "guardrails": {}}, previous_traffic={},
            stages=[], memory={}, samples_until=0, state=RolloutState.SUCCEEDED, created_by="ada",
        )  # fmt: skip
        objective = {"kind": "availability", "target_percent": 99.9}
        answer = self.api.put(
            f"/api/v1/endpoints/digits/objectives/{name}", objective, format="json"
        )
        assert answer.status_code == 201, answer.json()
        url = "https://hooks.example.org/x"
        self.post("channels", {"name": name, "kind": "slack", "url": url})
        until = (timezone.now() + timedelta(hours=1)).isoformat()
        self.post("silences", {"subject": "node/x", "reason": "x", "ends_at": until})
        self._measured(name)
        self._told(name)
        self._captured(name)
        self.post("drafts", {"title": name, "data": {}})
        self.post("service-accounts", {"name": f"robot-{self.size}", "role": "viewer"})
        for environment in {"more-1", name}:
            self.post("environments", {"name": environment, "requirements": name})
        self.post("join-tokens", {})
        token_create(user=self.user, name=name, actor="ada")
        Project.objects.create(name=name, created_by="ada")
        Membership.objects.create(
            project_id="default", user=make_user(name, User.Role.VIEWER), role="viewer"
        )
        done = events.record(actor="dora", verb="x", subject="x", message="x")
        archive, _ = archives.made([done], before="")
        archive.first_link = done.seq
        archive.save()
        self._rows(name, version)
        self._signatures()

    def _captured(self, name: str) -> None:
        """One more file, and an hour with one more feature."""
        now = timezone.now()
        blue = Deployment.objects.get(endpoint__name="digits", name="blue")
        CapturedFile.objects.create(
            id=name, deployment=blue, replica="r", size=1, records=1, first_at=now, last_at=now,
            expires_at=now + timedelta(days=1),
        )  # fmt: skip
        captured_store(name, b'{"x_request_id": "all-the-same", "inputs": []}\n')
        hour = CaptureHour(deployment=blue, hour=now - timedelta(hours=self.size))
        key = f"model_inputs/{name}"
        hour.summary = Summary(
            1, {key: sketch_of("number", [1.0], rows=1, shapes={}, rng=Random(1))}
        )
        hour.save()

    def _measured(self, name: str) -> None:
        """One more load sweep, and one more tuning."""
        blue = Deployment.objects.get(endpoint__name="digits", name="blue")
        LoadSweep.objects.create(
            id=name, deployment=blue, revision=blue.revision, replica="r", node_name="local",
            plan={"model": "digits", "mode": "rate", "levels": [1], "seconds": 1},
            points=[{"level": 1, "seconds": 1, "good": 1, "throughput": 1}], state="Succeeded",
            deadline_at=timezone.now(), created_by="ada",
        )  # fmt: skip
        now = {"instances": 1, "batch": 0, "delay_us": 0}
        Tuning.objects.create(
            id=name, deployment=blue, revision=blue.revision, model="digits", node_name="local",
            plan={"model": "digits", "mode": "rate", "levels": [1], "seconds": 1}, budget=2,
            space={"instances": [1, 2], "batch_sizes": [0], "delays_us": [0], "now": now},
            state="Succeeded", deadline_at=timezone.now(), created_by="ada",
        )  # fmt: skip

    def _told(self, name: str) -> None:
        """An alert, and a message about it."""
        now = timezone.now()
        Alert.objects.create(
            id=name, rule="node-silent", subject=f"node/{name}", severity="page", state="firing",
            summary="x", looked_at=now, started_at=now,
        )  # fmt: skip
        Delivery.objects.create(
            id=name, channel_id="more-1", alert=name, event="firing", message={}, created_at=now
        )

    def _signatures(self) -> None:
        """One more key, and files that every one of them signed."""
        first = ModelVersion.objects.get(model__name="digits", version=1)
        keys = [SecretKey(f"{n:08}".encode(), bytes([n]) * 32) for n in range(self.size)]
        digest = version_digest(first, None)
        for key in keys:
            ModelSignature.objects.create(
                digest=digest, key_id=key.public.name, text=signed(digest, key), uploaded_by="x"
            )
        public = keys[-1].public
        SigningKey.objects.create(
            key_id=public.name, public=public.line(), comment="x", added_by="x"
        )

    def _rows(self, name: str, version: ModelVersion) -> None:
        now = timezone.now()
        first = ModelVersion.objects.get(model__name="digits", version=1)
        ModelAlias.objects.create(model=first.model, name=name, version=version, set_by="dora")
        ConfigRevision.objects.create(
            model_version=first, number=self.size, configs={}, author="dora"
        )
        files_add(first, {**first.manifest()[0], "path": f"digits/1/{name}"})
        Session.objects.create(session_key=name, expire_date=now + timedelta(days=1))
        BrowserSession.objects.create(user=self.user, session_key=name, last_seen_at=now)
        SavedCase.objects.create(id=name, name=name, model="digits", inputs=[], created_by="dora")
        AnnouncedFile.objects.create(upload_id=UPLOAD, path=name, size=1, sha256=f"{self.size:064}")
        blobs = [CachedBlob(f"{i:064}", 1, now.timestamp(), False) for i in range(self.size)]
        self.node.post("cache", CacheReport(tuple(blobs)))
        seen = SeenRequest(
            f"id-{self.size}", "digits", "blue", now.timestamp(), "slow", "POST", "/", 200, "2xx"
        )
        same = replace(seen, id="all-the-same", host="h")
        gateway_samples_ingest(GatewaySampleBatch((), (seen, same)))
        span = ModelSpan("digits", 1, -1, "", 0.0, 1.0, execution="a")
        traced = TracedRequest(
            self.size, same.id, "slow", same.at, (span,), 0, "r", "digits", "blue"
        )
        samples_ingest(node_id="f", node="local", batch=SampleBatch((), None, (traced,)))
        LogLine.objects.create(
            endpoint="digits", deployment="blue", replica_id="r", stream="s", seq=self.size,
            at=now.timestamp(), text=name,
        )  # fmt: skip

    def place(self, route: str) -> str:
        """Where ``route`` is asked at."""
        where = {**WHERE, "name": "digits" if route.startswith("models/") else "more-1"}
        if route.startswith("service-accounts/"):
            where["name"] = "robot-1"
        where["operation_id"] = str(
            Operation.objects.order_by("created_at").values_list("pk", flat=True)[0]
        )
        where["case_id"] = "more-1"
        where["objective"] = "more-1"
        where["rollout_id"] = f"{1:032}"
        where["sweep_id"] = where["tuning_id"] = "more-1"
        where["try_load_id"] = self.api.get("/api/v1/try-loads").json()["items"][-1]["id"]
        path = re.sub(r"\{(\w+)\}", lambda found: where[found[1]], route)
        return f"/api/v1/{path}?{self._query(route)}"

    @staticmethod
    def _query(route: str) -> str:
        listed = DOCUMENT["paths"][f"/api/v1/{route}"]["get"].get("parameters", [])
        every = "limit=500" if any(one["name"] == "limit" for one in listed) else ""
        return ASKED.get(route, every).format(now=time.time())

    def ask(self, route: str) -> tuple[int, int, int]:
        """How many queries it took, how many things came, and how many rows were read for them."""
        path = self.place(route)
        # why: on a slow machine they would fall silent between two looks, and answers tell that
        Node.objects.update(last_seen_at=timezone.now())
        self.api.get(path)  # what is asked once per process does not count
        with (
            CaptureQueriesContext(connections["default"]) as main,
            CaptureQueriesContext(connections["metrics"]) as metrics,
            rows_read("default", "metrics") as read,
        ):
            answer = self.api.get(path)
        assert answer.status_code == 200, (path, answer.json())
        return len(main) + len(metrics), things(answer.json()), read.rows


def test_no_list_takes_more_queries_for_more_rows(
    admin: User, client_of: Callable[[User], APIClient]
) -> None:
    installation = Installation(admin, client_of)
    installation.grow()
    routes = list_routes()
    assert {"endpoints", "metrics/targets", "nodes/{node}/cache"} <= set(routes)
    before = {route: installation.ask(route) for route in routes}
    for _ in range(2):
        installation.grow()
    after = {route: installation.ask(route) for route in routes}
    assert {route: count for route, (count, _, _) in after.items() if count > MOST} == {}
    grown = {route: (before[route], after[route]) for route in routes}
    more = {route: pair for route, pair in grown.items() if pair[1][0] > pair[0][0]}
    assert more == {}, "(queries, things, rows), before and after"
    greedy = {r for r, (old, new) in grown.items() if new[2] - old[2] > 2 * (new[1] - old[1])}
    assert " ".join(sorted(greedy - READ_MORE)) == "", "these read rows that they do not show"
    assert " ".join(sorted(READ_MORE - greedy)) == "", "these no longer do"
    short = {route for route, (old, new) in grown.items() if new[1] <= old[1]}
    assert " ".join(sorted(short - FIXED)) == "", "these did not grow"
    assert " ".join(sorted(FIXED - short)) == "", "these did"
