"""A node agent without processes: it calls the real REST API and reports what a test tells it."""

from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from rest_framework.test import APIClient

from controlplane.deployments.selectors import routing_view
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import machine_boot_id
from controlplane.nodes.services import join_token_create
from controlplane.operations.services import gateway_confirmed
from wire import codec
from wire.messages import (
    DesiredReplica,
    DesiredState,
    NodeInfo,
    NodeReport,
    ObservedLoad,
    ObservedReplica,
    Problem,
    RegisterReply,
    RegisterRequest,
    ReportReply,
)

HEALTHY_WALK = ("downloading", "starting", "loading", "warming", "ready")


class SimulatedNode:
    """Joins on creation. ``replicas`` is what it would report next."""

    def __init__(self, name: str = "local", **info: Any) -> None:
        self.info = NodeInfo(
            name=name,
            agent_version="test",
            boot_id=machine_boot_id(),  # of this machine, so that loopback is a true address
            backends=("onnxruntime",),
            disk_total_bytes=10**12,
            disk_free_bytes=10**11,
            **info,
        )
        self.client = APIClient()
        self.replicas: dict[str, ObservedReplica] = {}
        self.generation = 0
        self.loads: tuple[ObservedLoad, ...] = ()
        self.port = 9001 + 10 * Node.objects.count()  # all are on this machine
        token = join_token_create(actor="ada")
        answer = self.post("register", RegisterRequest(token=token, node=self.info))
        assert answer.status_code == 200, answer.content
        self.identity = codec.decode(RegisterReply, answer.content)
        self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.identity.credential}")

    def post(self, resource: str, message: object) -> HttpResponse:
        return self.client.generic(
            "POST", f"/agent/v1/{resource}", codec.encode(message), content_type="application/json"
        )

    def row(self) -> Node:
        return Node.objects.get(pk=self.identity.node_id)

    def desired(self) -> DesiredState:
        answer = self.client.get("/agent/v1/desired")
        assert answer.status_code == 200, answer.content
        state = codec.decode(DesiredState, answer.content)
        self.generation = state.generation
        wanted = {replica.replica_id for replica in state.replicas}
        self.replicas = {key: seen for key, seen in self.replicas.items() if key in wanted}
        for replica in state.replicas:
            seen = self.replicas.get(replica.replica_id)
            if seen is None or seen.generation < replica.generation:
                self.replicas[replica.replica_id] = self._fresh(replica)
        return state

    def _fresh(self, replica: DesiredReplica) -> ObservedReplica:
        return ObservedReplica(
            replica_id=replica.replica_id,
            generation=replica.generation,
            state="pending",
            address=self.info.address,
            total_bytes=sum(file.size for file in replica.files),
        )

    def message(self) -> NodeReport:
        return NodeReport(
            node=self.info,
            observed_generation=self.generation,
            replicas=tuple(self.replicas.values()),
            loads=self.loads,
        )

    def report(self) -> ReportReply:
        answer = self.post("report", self.message())
        assert answer.status_code == 200, answer.content
        return codec.decode(ReportReply, answer.content)

    def say(self, state: str, **changes: Any) -> ReportReply:
        """Every replica is in this state now; one that is ready has ports."""
        if state in ("loading", "warming", "ready"):
            port = self.port
            ports = {"http_port": port, "grpc_port": port + 1, "metrics_port": port + 2}
            changes = {**ports, **changes}
        if state != "downloading" and state != "pending":
            changes.setdefault("downloaded_bytes", 64)
        for key, seen in self.replicas.items():
            self.replicas[key] = replace(seen, state=state, **changes)
        return self.report()

    def measure(self, load_id: str, state: str = "running", **changes: Any) -> ReportReply:
        """How far the load sweep is that it was asked for."""
        self.loads = (ObservedLoad(load_id, state, **changes),)
        return self.report()

    def fail(self, code: str = "ModelLoadFailed") -> ReportReply:
        return self.say("failed", error=Problem(code, "It does not load.", detail="line 1"))

    def bring_up(self) -> None:
        """Do what is desired, and report once, when it is ready: what is quick is seen so."""
        self.desired()
        self.say("ready")


def gateway_confirms() -> None:
    """A gateway has applied everything there is to route."""
    gateway_confirmed(generation_by_endpoint=routing_view().generations())
