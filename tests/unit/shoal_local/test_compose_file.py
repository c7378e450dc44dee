"""docker-compose.yml hangs together: what it names exists, in the file and in the repository."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.helm_chart import CONTROL, read_by

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
# Top-level and service keys of the Compose Specification that this file may use.
TOP_KEYS = {"name", "services", "networks", "volumes", "secrets"}
SERVICE_KEYS = {
    *("build", "image", "restart", "init", "environment", "volumes", "depends_on", "command"),
    *("healthcheck", "ports", "stop_grace_period", "profiles", "user", "networks"),
    *("cap_drop", "security_opt", "read_only", "tmpfs"),
    *("deploy", "secrets", "hostname", "shm_size"),
}
PROFILES = {
    "studio-tls": ["tls"],
    "node-gpu": ["gpu"],
    "envoy-2": ["two-gateways"],
    "gateway-2": ["two-gateways"],
    "prometheus": ["observability"],
    "grafana": ["observability"],
    "collector": ["observability"],
}
# Which settings the programs of each image read.
READ = {
    "shoal-control": read_by(*CONTROL),
    "shoal-gateway": read_by("controlplane/gateway/settings.py"),
    "shoal-node": read_by("node_agent/settings.py"),
}
HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period"}


def test_only_keys_of_the_specification() -> None:
    assert {key for key in COMPOSE if not key.startswith("x-")} == TOP_KEYS
    for name, service in SERVICES.items():
        assert set(service) <= SERVICE_KEYS, name
        assert set(service.get("healthcheck", {})) <= HEALTH_KEYS, name


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_waits_for_can_be_seen(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other], f"{name} waits for the health of {other}"
        else:
            assert how["condition"] == "service_completed_successfully"
            assert SERVICES[other]["restart"] == "no", f"{other} never completes"


@pytest.mark.parametrize("name", [n for n in SERVICES if n not in {"setup", "collector"}])
def test_every_lasting_service_has_a_health_check_and_restarts(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_every_published_port_is_known() -> None:
    """What others than this machine can reach speaks TLS, and asks for a key or a password."""
    published = {
        name: port for name, service in SERVICES.items() for port in service.get("ports", [])
    }
    assert published == {
        "web": "127.0.0.1:${SHOAL_STUDIO_PORT:-8080}:8080",
        "agents": "${SHOAL_AGENT_ADDRESS:-127.0.0.1}:${SHOAL_AGENT_PORT:-8445}:8445",
        "envoy": "${SHOAL_GATEWAY_TLS_PORT:-8443}:8443",
        "studio-tls": "${SHOAL_STUDIO_TLS_PORT:-8444}:8444",
        "envoy-2": "${SHOAL_GATEWAY_2_TLS_PORT:-8446}:8443",
        "prometheus": "127.0.0.1:${PROMETHEUS_PORT:-9090}:9090",
        "grafana": "127.0.0.1:${GRAFANA_PORT:-3000}:3000",
        "collector": "127.0.0.1:${OTLP_PORT:-4318}:4318",
    }
    assert [name for name, service in SERVICES.items() if service.get("network_mode")] == []


def test_what_not_everybody_wants_is_in_profiles() -> None:
    found = {
        name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service
    }
    assert found == PROFILES
    for name, service in SERVICES.items():
        for other in service.get("depends_on", {}):
            profiles = PROFILES.get(other, [])
            assert not profiles or profiles == PROFILES.get(name), f"{name} waits for {other}"


@pytest.mark.parametrize("name", [n for n, s in SERVICES.items() if s["image"] in READ])
def test_every_variable_is_one_that_the_program_reads(name: str) -> None:
    known = READ[SERVICES[name]["image"]] | {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    assert not set(SERVICES[name].get("environment", {})) - known


@pytest.mark.parametrize("name", [n for n, s in SERVICES.items() if s["image"] not in READ])
def test_images_of_others_have_a_version(name: str) -> None:
    """A tag that moves is another program after the next start."""
    assert re.search(r":v?\d+\.\d+(\.\d+)?(-[a-z]+)?$", SERVICES[name]["image"])


def test_two_gateways_serve_under_the_same_names() -> None:
    """Each with a key of its own, that never leaves its volume."""
    first, second, agent = (SERVICES[name] for name in ("envoy", "envoy-2", "gateway-2"))
    for name in ("SHOAL_GATEWAY_TLS_NAMES", "SHOAL_GATEWAY_TOKEN", "SHOAL_CONTROL_URL"):
        assert first["environment"][name] == second["environment"][name]
    assert agent["environment"] == second["environment"]
    assert second["environment"]["SHOAL_GATEWAY_NAME"] != "local"
    assert "gateway-2:/data" in second["volumes"] == agent["volumes"]
    assert not [volume for volume in second["volumes"] if volume.startswith("gateway:")]


def test_the_node_with_gpus_is_another_node() -> None:
    node, gpus = SERVICES["node"], SERVICES["node-gpu"]
    (device,) = gpus["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert "deploy" not in node
    assert not {v for v in gpus["volumes"] if ":/data" in v} & set(node["volumes"])
    assert gpus["environment"]["SHOAL_JOIN_TOKEN"] == "${SHOAL_NODE_TOKEN:-}"
    assert SERVICES["web"]["environment"]["SHOAL_NODE_TOKEN"] == "${SHOAL_NODE_TOKEN:-}"


def test_prometheus_asks_the_same_as_outside_of_containers() -> None:
    """But for names of hosts, and the place of the token."""
    folder = ROOT / "deploy" / "prometheus"
    inside, outside = ((folder / name).read_text() for name in ("compose.yml", "prometheus.yml"))
    inside = inside.replace("web:8080", "127.0.0.1:8080").replace(
        "/run/secrets/metrics-token", "token"
    )
    assert yaml.safe_load(inside) == yaml.safe_load(outside)
    assert COMPOSE["secrets"] == {"metrics-token": {"file": "./deploy/prometheus/token"}}
    command = SERVICES["prometheus"]["command"]
    assert "--config.file=/etc/prometheus/compose.yml" in command
    assert SERVICES["prometheus"]["secrets"] == ["metrics-token"]
    hosts = SERVICES["web"]["environment"]["SHOAL_ALLOWED_HOSTS"]
    assert "web" in hosts.split(",")


def test_grafana_finds_dashboards_and_their_source() -> None:
    folder = ROOT / "deploy" / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((folder / "dashboards" / "shoal.yml").read_text())["providers"]
    (source,) = yaml.safe_load((folder / "datasources" / "shoal.yml").read_text())["datasources"]
    volumes = dict(v.removesuffix(":ro").split(":") for v in SERVICES["grafana"]["volumes"])
    assert volumes["./deploy/grafana"] == provider["options"]["path"]
    assert volumes["./deploy/grafana/provisioning"] == "/etc/grafana/provisioning"
    assert (source["type"], source["isDefault"]) == ("prometheus", True)
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in SERVICES


def test_the_collector_takes_what_runtimes_send() -> None:
    configuration = yaml.safe_load((ROOT / "deploy" / "otel" / "collector.yaml").read_text())
    protocols = configuration["receivers"]["otlp"]["protocols"]
    assert protocols["http"]["endpoint"].endswith(":4318")
    for pipeline in configuration["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= set(configuration[kind])


def test_only_the_control_plane_reaches_the_stores() -> None:
    """Nodes run other people's code; they and the gateways need no database and no Redis."""
    joined = {name: set(service.get("networks", ["default"])) for name, service in SERVICES.items()}
    assert {name for name, networks in joined.items() if "stores" in networks} == {
        *("postgres", "redis", "setup", "web", "agents", "worker", "ingest", "beat")
    }
    assert {name for name, networks in joined.items() if networks == {"stores"}} == {
        *("postgres", "redis")
    }
    assert set(COMPOSE["networks"]) == {"stores"}
    told = {name for name in SERVICES if "PASSWORD" in str(SERVICES[name].get("environment"))}
    assert told == {"postgres", "redis", "setup", "web", "agents", "worker", "ingest", "beat"}


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_has_rights_that_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    # models may write where they like in the node's container
    assert name in {"node", "node-gpu"} or (service["read_only"] and "/tmp" in service["tmpfs"])
    # the images of our own say who they are; of others the name is in the file
    assert "build" in service or service["image"].startswith("shoal-") or service["user"]
    assert service.get("user") not in {"root", "0", 0}
    assert re.search(r"^USER shoal$", DOCKERFILE, re.MULTILINE)


def test_cookies_are_secure_where_people_come_by_https() -> None:
    url = SERVICES["web"]["environment"]["SHOAL_PUBLIC_URL"]
    assert url.startswith("${SHOAL_PUBLIC_URL:-")


def test_named_volumes_are_declared_and_used() -> None:
    mounts = [
        mount.split(":") for service in SERVICES.values() for mount in service.get("volumes", [])
    ]
    named = {source for source, *_ in mounts if not source.startswith(".")}
    assert named == set(COMPOSE["volumes"])
    for source, *_ in mounts:
        assert not source.startswith(".") or (ROOT / source).exists(), source


def test_build_targets_are_stages_of_the_dockerfile() -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    targets = {service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert targets == {"control", "gateway", "node"}
    assert targets <= stages


def test_what_the_dockerfile_copies_exists() -> None:
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source


def test_programs_that_containers_start_exist() -> None:
    modules = re.findall(r"\bpython\", \"-m\", \"([\w.]+)\"|python -m ([\w.]+)", DOCKERFILE + TEXT)
    listed = [command for service in SERVICES.values() if (command := service.get("command"))]
    names = {first or second for first, second in modules}
    names |= {command[2] for command in listed if command[:2] == ["python", "-m"]}
    assert {"node_agent", "controlplane.gateway.agent", "shoal.local.prepare"} <= names
    for name in names - {"venv"}:
        assert importlib.util.find_spec(name) is not None, name


def test_the_log_of_the_set_up_shows_the_way_in() -> None:
    assert "--announce" in SERVICES["setup"]["command"][-1]
    assert "SHOAL_PUBLIC_URL" in SERVICES["setup"]["environment"]


def test_make_env_writes_every_required_variable(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "make-env", tmp_path / "deploy")
    subprocess.run([tmp_path / "deploy" / "make-env"], check=True, capture_output=True)
    lines = (tmp_path / ".env").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert set(re.findall(r"\$\{(\w+):\?", TEXT)) <= set(values)
    assert all(re.fullmatch(r"[\w.-]+", value) for value in values.values()), "URL-unsafe secret"
    again = subprocess.run([tmp_path / "deploy" / "make-env"], check=False, capture_output=True)
    assert again.returncode == 1


def test_docker_itself_accepts_the_file(tmp_path: Path) -> None:
    probe = ["docker", "compose", "version"]
    if (
        not shutil.which("docker")
        or subprocess.run(probe, capture_output=True, check=False).returncode
    ):
        pytest.skip("no Docker Compose on this machine")
    variables = dict.fromkeys(re.findall(r"\$\{(\w+)", TEXT), "x")
    file = tmp_path / ".env"
    file.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    checked = subprocess.run(
        ["docker", "compose", "--env-file", file, "config", "--quiet"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
