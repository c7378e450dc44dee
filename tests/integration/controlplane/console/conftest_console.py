"""An endpoint that answers: rows, a runtime process with an ONNX model, and Envoy in front."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from django.utils import timezone
from onnx import TensorProto, helper

# why: the harness of the gateway's tests lives beside them
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))

from gateway_harness import Gateway, start, stop, wait_until

from controlplane.accounts.models import User
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.services import endpoint_create
from controlplane.gateway.bootstrap import prepare
from controlplane.nodes.models import Node
from controlplane.registry.models import Model, ModelVersion, RepoModel
from tests.support import builtin_models
from tests.support.builtin_models import place
from tests.support.deployment_rows import deployment_add
from tests.support.gateway_folder import settings_in

MODEL = "double_it"
REPEAT = "repeat_it"


def user(role: str = User.Role.DEPLOYER) -> User:
    return User.objects.create_user(username=f"u-{role}", password="x" * 12, role=role)


def endpoint_row(name: str = "digits") -> Endpoint:
    return endpoint_create(name=name, actor="ada", now=timezone.now())


def deployment_row(endpoint: Endpoint, http_port: int = 1, grpc_port: int = 1) -> Deployment:
    version = ModelVersion.objects.create(
        model=Model.objects.create(name="m", latest_version=1),
        version=1,
        digest="0" * 64,
        size=1,
        file_count=0,
        created_by="ada",
    )
    RepoModel.objects.create(
        model_version=version,
        name=MODEL,
        backend="onnxruntime",
        max_batch_size=8,
        inputs=[{"name": "x", "datatype": "FP32", "shape": [3], "optional": False}],
        outputs=[{"name": "y", "datatype": "FP32", "shape": [3], "labels": ["a", "b", "c"]}],
        versions=[1],
        config_effective="",
    )
    RepoModel.objects.create(
        model_version=version,
        name=REPEAT,
        backend="repeat",
        decoupled=True,
        inputs=[],
        outputs=[],
        versions=[1],
        config_effective="",
    )
    deployment = deployment_add(endpoint, version, provisioning_state="Succeeded")
    Endpoint.objects.filter(pk=endpoint.pk).update(traffic={"blue": 100})
    node = Node.objects.create(id="n1", name="n1", credential_hash="x")
    observed = {
        "state": "ready",
        "address": "127.0.0.1",
        "http_port": http_port,
        "grpc_port": grpc_port,
    }
    Replica.objects.create(
        id="r1",
        deployment=deployment,
        revision=deployment.revision,
        ordinal=0,
        node=node,
        state="ready",
        observed=observed,
        last_report_at=timezone.now(),
    )
    return deployment


def write_model(folder: Path, operator: str = "Add") -> None:
    """y = x + x (or as ``operator`` says) over float32[batch, 3], a batch of up to eight."""
    batch = ["batch", 3]
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "x"], ["y"])],
        MODEL,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, batch)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, batch)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    version = folder / MODEL / "1"
    version.mkdir(parents=True)
    onnx.save(model, str(version / "model.onnx"))
    (folder / MODEL / "config.pbtxt").write_text('backend: "onnxruntime"\nmax_batch_size: 8\n')
    place(folder, REPEAT, builtin_models.REPEAT)


@dataclass
class Runtime:
    process: subprocess.Popen[bytes]
    http_port: int
    grpc_port: int


@contextmanager
def started(folder: Path, *flags: str, operator: str = "Add") -> Iterator[Runtime]:
    write_model(folder / "repository", operator)
    ready = folder / "ready.json"
    log = folder / "runtime.log"
    ports = [f"--{kind}-port=0" for kind in ("http", "grpc", "metrics")]
    addresses = [f"--{kind}-address=127.0.0.1" for kind in ("http", "grpc", "metrics")]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "worker_runtime"),
                *("--model-repository", str(folder / "repository")),
                *("--ready-file", str(ready)),
                *ports,
                *addresses,
                *flags,
            ],
            stdout=output,
            stderr=output,
        )

    def listening() -> bool:
        assert process.poll() is None, log.read_text()
        return ready.exists()

    wait_until(listening, "the runtime listens", 60)
    found = json.loads(ready.read_text())
    yield Runtime(process, found["http_port"], found["grpc_port"])
    process.kill()
    process.wait(10)


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with started(tmp_path_factory.mktemp("runtime")) as found:
        yield found


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    running = start(prepare(settings_in(tmp_path)))
    yield running
    stop(running)


@pytest.fixture
def served(transactional_db: None, gateway: Gateway, runtime: Runtime, settings: object) -> Gateway:
    """The endpoint "digits", its deployment "blue" behind the gateway."""
    settings.SHOAL_GATEWAY_PLAIN_URL = gateway.plain  # type: ignore[attr-defined]
    deployment_row(endpoint_row(), runtime.http_port, runtime.grpc_port)
    gateway.apply(*routing_view().endpoints)
    return gateway
