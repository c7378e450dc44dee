"""What the chart starts, asks and sets is in the code: commands, variables, ports, paths, files."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.urls import resolve

from controlplane.config.beat import ALIVE
from controlplane.gateway import settings as gateway
from node_agent import leave
from tests.support import helm_chart
from tests.support.helm_chart import (
    DOCKERFILE,
    ROOT,
    VALUES,
    Document,
    containers,
    environment,
    of_kind,
    pods,
    read_by,
    standing,
)
from worker_runtime.config import parse

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
CONTROL = read_by(*helm_chart.CONTROL)
# Compose hands on only what it names; the chart takes any of these under `settings`.
SIGN_IN = read_by("controlplane/config/sign_in.py")
GATEWAY = read_by("controlplane/gateway/settings.py")
NODE = read_by("node_agent/settings.py", "node_agent/inherited.py")
# Not ours: AWS's own, and what the chart makes others of.
OTHERS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "POD_IP", "OWN_NAME"}
# Of these the chart says only what somebody writes into `settings`.
CHOSEN = SIGN_IN | {
    "SHOAL_ALERT_NETWORKS",
    "SHOAL_IMPORTS_AT_ONCE",
    *(f"SHOAL_{name}_{part}" for name in ("HUB", "MLFLOW") for part in ("URL", "TOKEN")),
    *(f"SHOAL_IMPORT_{name}" for name in ("NETWORKS", "PROXY", "TIMEOUT_S")),
    *(f"SHOAL_IMPORT_S3_{name}" for name in ("ENDPOINT", "REGION", "ACCESS_KEY", "SECRET_KEY")),
    *(f"SHOAL_EMAIL_{name}" for name in ("HOST", "PORT", "USER", "PASSWORD", "TLS", "FROM")),
}
each_set = pytest.mark.parametrize("values", VALUES)


def target(container: Document) -> str:
    """Of deploy/Dockerfile: which of the three images it is."""
    name: str = container["image"].rpartition("/")[2].partition(":")[0]
    return name.removeprefix("shoal-")


def every_container(values: str) -> dict[str, Document]:
    return {
        f"{name}/{one['name']}": one
        for name, pod in pods(values).items()
        for one in containers(pod)
    }


@each_set
def test_every_variable_is_one_that_its_program_reads(values: str) -> None:
    for name, container in every_container(values).items():
        rooms = {"control": CONTROL, "gateway": GATEWAY, "node": NODE}[target(container)]
        unknown = set(environment(container)) - rooms - OTHERS
        assert not unknown, f"{name}: nobody reads {unknown}"
        for entry in environment(container).values():
            if "secretKeyRef" not in entry.get("valueFrom", {}):
                assert "fieldRef" in entry.get("valueFrom", {}) or "value" in entry


def test_what_compose_says_to_a_program_the_chart_says_too() -> None:
    """But for where the data is, what only one of the two has, and what the cluster says itself."""
    told = {
        "web/web": ("web", CHOSEN),
        "agents/agents": ("agents", CHOSEN),
        "worker/worker": ("worker", CHOSEN),
        "gateway/envoy": ("envoy", set()),
        "gateway/agent": ("gateway", set()),
        "node-cpu/node": ("node", {"SHOAL_JOIN_TOKEN_FILE"}),
    }
    for name, (service, others) in told.items():
        wanted = set(COMPOSE[service]["environment"]) - others
        with_bucket = every_container("high-availability")[name]
        assert wanted <= set(environment(with_bucket)), name


def test_programs_are_those_of_compose() -> None:
    for values in VALUES:
        found = every_container(values)
        for name, service in (
            ("agents/agents", "agents"),
            ("worker/worker", "worker"),
            ("ingest/ingest", "ingest"),
            ("beat/beat", "beat"),
            ("gateway/agent", "gateway"),
        ):
            assert found[name]["command"] == COMPOSE[service]["command"]
        for name in ("web/web", "gateway/envoy"):
            assert "command" not in found[name]
        probe = found["worker/worker"]["livenessProbe"]["exec"]["command"][-1]
        assert probe == COMPOSE["worker"]["healthcheck"]["test"][-1].replace("$$", "$")


@each_set
def test_modules_that_are_started_are_there(values: str) -> None:
    for name, container in every_container(values).items():
        commands = [container.get("command", [])]
        commands += [hook["exec"]["command"] for hook in container.get("lifecycle", {}).values()]
        for command in commands:
            if command[:2] == ["python", "-m"]:
                assert importlib.util.find_spec(command[2]) is not None, name
    flags = [
        part for part in every_container("minimal")["setup/setup"]["command"] if part[0] == "-"
    ]
    text = (ROOT / "shoal" / "local" / "prepare.py").read_text()
    assert all(f'"{flag}"' in text for flag in flags if flag != "-m")


@each_set
def test_ports_are_those_of_the_programs(values: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in gateway.os.environ if name.startswith("SHOAL_GATEWAY")]:
        monkeypatch.delenv(name)
    told = gateway.load()
    uvicorn = standing("control")
    runtime = parse(["--model-repository=/models"])
    ports = {
        "web/web": {"http": int(uvicorn[uvicorn.index("--port") + 1])},
        "agents/agents": {"agents": settings.SHOAL_AGENT_PORT},
        "gateway/envoy": {"https": told.tls_port, "plain": told.plain_port},
        "runtime-vision/runtime": {
            "http": runtime.http.port,
            "grpc": runtime.grpc.port,
            "metrics": runtime.metrics.port,
        },
    }
    for name, container in every_container(values).items():
        shown = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        assert shown == ports.get(name, {}), name
    assert standing("gateway") == ["python", "deploy/run_envoy.py"]
    assert standing("node") == ["python", "-m", "node_agent"]


@each_set
def test_paths_that_probes_ask_for_are_served(values: str) -> None:
    served = "".join(
        path.read_text() for path in (ROOT / "worker_runtime" / "protocols" / "http").rglob("*.py")
    )
    asked = set()
    for container in every_container(values).values():
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            path = container.get(probe, {}).get("httpGet", {}).get("path")
            if path is None:
                continue
            asked.add(path)
            if target(container) == "node":
                assert f'"{path}"' in served
            else:
                assert resolve(path).url_name is None
                assert "studio" not in str(resolve(path).func), f"{path} is the studio's page"
    assert {"/livez", "/readyz", "/agent/v1/ca"} <= asked


def test_files_that_probes_look_at_are_written() -> None:
    found = every_container("minimal")
    (path,) = found["gateway/agent"]["readinessProbe"]["exec"]["command"][2:]
    assert Path(path) == Path("/data") / "gateway" / "snapshot.json"
    assert '"snapshot.json"' in (ROOT / "controlplane" / "gateway" / "agent.py").read_text()
    look = found["node-cpu/node"]["readinessProbe"]["exec"]["command"][-1]
    assert "/data/node/agent.json" in look
    assert '"agent.json"' in (ROOT / "node_agent" / "agent.py").read_text()
    beat = found["beat/beat"]
    (folder, schedule) = re.findall(r"--schedule (\S+)/(\S+)", beat["command"][-1])[0]
    probe = beat["livenessProbe"]["exec"]["command"][-1]
    assert f"find {folder} -name {schedule}{ALIVE} -mmin -2" in probe
    assert "ENV PYTHONUNBUFFERED=1" in DOCKERFILE
    assert "SHOAL_HOME=/data" in DOCKERFILE


@each_set
def test_nodes_empty_themselves_before_their_pods_end(values: str) -> None:
    nodes = {name: pod for name, pod in pods(values).items() if name.startswith("node-")}
    assert nodes
    for pod in nodes.values():
        (container,) = pod["spec"]["containers"]
        command = container["lifecycle"]["preStop"]["exec"]["command"]
        assert command[:4] == ["python", "-m", leave.__name__, "--deadline"]
        # and then SIGINT, on which it ends what may be left
        enough = int(command[4]) + leave.LATE_S + 30
        assert pod["spec"]["terminationGracePeriodSeconds"] >= enough
        assert "livenessProbe" not in container, "it must serve on without a control plane"
    assert "STOPSIGNAL SIGINT" in DOCKERFILE


@each_set
def test_gateways_have_time_to_answer_what_they_hold(values: str) -> None:
    spec = pods(values)["gateway"]["spec"]
    envoy = spec["containers"][0]
    pause = int(envoy["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = int(environment(envoy)["SHOAL_GATEWAY_DRAIN_S"]["value"])
    assert spec["terminationGracePeriodSeconds"] >= pause + drain + 20
    assert environment(envoy)["SHOAL_GATEWAY_LEAVES"]["value"] == "true"


def test_pools_of_gpus_ask_for_them_and_go_where_they_are() -> None:
    found = pods("gpu")
    for name, gpus in (("node-a100", "1"), ("node-t4", "4"), ("runtime-vision", "1")):
        spec = found[name]["spec"]
        assert spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == gpus
        assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in spec[
            "tolerations"
        ]
    assert "nvidia.com/gpu" not in found["node-cpu"]["spec"]["containers"][0]["resources"]["limits"]
    a100, t4 = (found[name]["spec"] for name in ("node-a100", "node-t4"))
    assert a100["runtimeClassName"] == "nvidia"
    assert a100["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    told = environment(a100["containers"][0])
    assert told["SHOAL_NODE_LABELS"]["value"] == "pool=a100"
    assert told["SHOAL_NODE_DOWNLOAD_LIMIT"]["value"] == "500MiB"
    shm = next(volume for volume in a100["volumes"] if volume["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "4Gi"}
    data = next(volume for volume in t4["volumes"] if volume["name"] == "data")
    assert set(data) == {"name", "hostPath"}
    assert [one["metadata"]["name"] for one in of_kind("gpu", "DaemonSet")] == ["shoal-node-t4"]
    assert environment(t4["containers"][0])["SHOAL_NODE_NAME"]["value"] == "$(OWN_NAME).t4"


def test_a_runtime_alone_is_scraped_and_probed_as_triton_is() -> None:
    pod = pods("gpu")["runtime-vision"]
    assert pod["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "8002",
        "prometheus.io/path": "/metrics",
    }
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["python", "-m", "worker_runtime"]
    parse(container["args"])
    assert container["args"][-2:] == ["--model-control-mode=explicit", "--load-model=*"]


def test_migrations_run_before_what_needs_them() -> None:
    (job,) = of_kind("minimal", "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    spec = job["spec"]["template"]["spec"]
    assert not [volume for volume in spec["volumes"] if "persistentVolumeClaim" in volume], (
        "a hook runs before there is a claim"
    )


def test_how_people_sign_in_reaches_every_process_and_its_secrets_stay_secret() -> None:
    values = "ingress-cert-manager"
    for name in ("web/web", "agents/agents", "worker/worker"):
        told = environment(every_container(values)[name])
        assert told["SHOAL_OIDC_ISSUER"]["value"].startswith("https://")
        for secret in ("SHOAL_OIDC_CLIENT_SECRET", "SHOAL_REMOTE_SECRET"):
            reference = told[secret]["valueFrom"]["secretKeyRef"]
            assert (reference["name"], reference["key"]) == ("shoal-sign-in", secret)
            assert reference["optional"] is True  # whichever way there is
    assert "SHOAL_REMOTE_SECRET" not in environment(every_container("minimal")["web/web"])


def test_what_imports_show_to_others_is_never_told_in_clear() -> None:
    told = environment(every_container("ingress-cert-manager")["worker/worker"])
    for secret in ("SHOAL_HUB_TOKEN", "SHOAL_MLFLOW_TOKEN", "SHOAL_IMPORT_S3_SECRET_KEY"):
        reference = told[secret]["valueFrom"]["secretKeyRef"]
        assert reference == {"name": "shoal-hub", "key": secret, "optional": True}
    assert "SHOAL_HUB_TOKEN" not in environment(every_container("minimal")["worker/worker"])
