"""The chart for Kubernetes: rendered for five sets of values, valid for the API, and whole."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.support.helm_chart import (
    CHART,
    NAMESPACE,
    OPERATORS,
    ROOT,
    VALUES,
    Document,
    containers,
    environment,
    helm,
    name_of,
    of_kind,
    pods,
    rendered,
    selects,
    strings,
)

SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
# Of Kubernetes: the first that Chart.yaml takes, and the last whose schemas are at hand.
OLDEST, NEWEST = "1.27", kubernetes_validate.latest_version()
each_set = pytest.mark.parametrize("values", VALUES)


def test_there_are_five_sets() -> None:
    assert set(VALUES) == {
        *("minimal", "gpu", "high-availability", "ingress-cert-manager", "airgapped")
    }


@each_set
def test_helm_finds_nothing_to_say(values: str) -> None:
    said = helm("lint", "--strict", "--quiet", CHART, "--values", VALUES[values])
    assert "[WARNING]" not in said.stdout
    assert "[ERROR]" not in said.stdout


def test_every_document_is_what_the_api_takes() -> None:
    """Strictly: with a field that it does not know it would drop what we meant by it."""
    found = {
        json.dumps(document, sort_keys=True): document
        for values in VALUES
        for document in rendered(values)
        if document["apiVersion"] not in OPERATORS
    }
    assert len(found) > 60
    for document in found.values():
        kubernetes_validate.validate(document, OLDEST, strict=True)
    for document in {document["kind"]: document for document in found.values()}.values():
        kubernetes_validate.validate(document, NEWEST, strict=True)
    broken: Document = json.loads(json.dumps(of_kind("minimal", "Deployment")[0]))
    broken["spec"]["template"]["spec"]["containers"][0]["readOnly"] = True
    with pytest.raises(kubernetes_validate.ValidationError, match="readOnly"):
        kubernetes_validate.validate(broken, OLDEST, strict=True)


def test_the_package_has_what_the_folder_has(tmp_path: Path) -> None:
    """Rules and dashboards are links here, and files there."""
    helm("package", CHART, "--destination", tmp_path)
    (package,) = tmp_path.glob("shoal-*.tgz")
    assert rendered("high-availability", package) == rendered("high-availability")


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]
    assert chart["kubeVersion"] == f">={OLDEST}.0-0"


@each_set
def test_pods_can_do_no_more_than_they_need(values: str) -> None:
    for name, pod in pods(values).items():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["fsGroup"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, (name, container["name"])
            writable = {mount["mountPath"] for mount in container["volumeMounts"]}
            assert {"/data", "/tmp"} <= writable, "programs write there"
    assert "useradd --uid 10001" in (ROOT / "deploy" / "Dockerfile").read_text()


@each_set
def test_every_lasting_container_is_looked_at_and_has_its_share(values: str) -> None:
    for name, pod in pods(values).items():
        for container in pod["spec"]["containers"]:
            if name != "setup":
                assert {"livenessProbe", "readinessProbe"} & set(container), name
            assert container["resources"].get("requests"), name
    for name in ("web", "agents"):
        probed = pods(values)[name]["spec"]["containers"][0]
        assert {"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"} <= set(probed)


@each_set
def test_what_is_mounted_is_there(values: str) -> None:
    claims = {document["metadata"]["name"] for document in of_kind(values, "PersistentVolumeClaim")}
    told = set(strings(yaml.safe_load(VALUES[values].read_text())))
    for name, pod in pods(values).items():
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        mounted = {mount["name"] for one in containers(pod) for mount in one["volumeMounts"]}
        assert mounted == set(volumes), name
        for volume in volumes.values():
            assert "configMap" not in volume
            if claim := volume.get("persistentVolumeClaim", {}).get("claimName"):
                assert claim in claims | told, f"{name}: nobody makes the claim {claim}"


def secrets_used(values: str) -> set[str]:
    found = set()
    for pod in pods(values).values():
        found |= {v["secret"]["secretName"] for v in pod["spec"]["volumes"] if "secret" in v}
        found |= {one["name"] for one in pod["spec"].get("imagePullSecrets", [])}
        for container in containers(pod):
            found |= {
                entry["valueFrom"]["secretKeyRef"]["name"]
                for entry in environment(container).values()
                if "secretKeyRef" in entry.get("valueFrom", {})
            }
    for ingress in of_kind(values, "Ingress"):
        found |= {one["secretName"] for one in ingress["spec"].get("tls", [])}
    return found


@each_set
def test_secrets_are_named_and_made_by_others(values: str) -> None:
    assert not of_kind(values, "Secret")
    told = {*strings(DEFAULTS), *strings(yaml.safe_load(VALUES[values].read_text()))}
    made = {document["spec"]["secretName"] for document in of_kind(values, "Certificate")}
    assert secrets_used(values) <= told | made
    hidden = {"SHOAL_SECRET_KEY", "SHOAL_GATEWAY_TOKEN", "SHOAL_NODE_TOKEN", "SHOAL_JOIN_TOKEN"}
    hidden |= {"SHOAL_DATABASE_URL", "SHOAL_METRICS_DATABASE_URL", "SHOAL_REDIS_URL"}
    hidden |= {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    for pod in pods(values).values():
        for container in containers(pod):
            for name in hidden & set(environment(container)):
                assert "value" not in environment(container)[name], name
    for document in of_kind(values, "ConfigMap"):
        assert set(document["data"]) == {
            f"shoal-{path.name}" for path in (ROOT / "deploy" / "grafana").glob("*.json")
        }


@each_set
def test_selectors_find_the_pods_that_they_mean(values: str) -> None:
    labelled = {name: pod["metadata"]["labels"] for name, pod in pods(values).items()}
    for owner in of_kind(values, "Deployment", "DaemonSet"):
        found = [n for n, labels in labelled.items() if selects(labels, owner["spec"]["selector"])]
        assert found == [name_of(owner)]
    for budget in of_kind(values, "PodDisruptionBudget"):
        selector = budget["spec"]["selector"]
        assert [n for n, of in labelled.items() if selects(of, selector)] == [name_of(budget)]
    for scaler in of_kind(values, "HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]
        (owner,) = [
            document
            for document in of_kind(values, target["kind"])
            if document["metadata"]["name"] == target["name"]
        ]
        assert "replicas" not in owner["spec"]
        inside = {one["name"] for one in owner["spec"]["template"]["spec"]["containers"]}
        for metric in scaler["spec"]["metrics"]:
            assert metric["containerResource"]["container"] in inside
    for monitor in of_kind(values, "ServiceMonitor"):
        (service,) = [
            one
            for one in of_kind(values, "Service")
            if selects(one["metadata"]["labels"], monitor["spec"]["selector"])
        ]
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports
    for policy in of_kind(values, "NetworkPolicy"):
        spec = policy["spec"]
        peers = [
            peer["podSelector"]
            for rule in (*spec.get("ingress", []), *spec.get("egress", []))
            for peer in (*rule.get("from", []), *rule.get("to", []))
            if "podSelector" in peer
        ]
        for selector in (spec["podSelector"], *peers):
            assert [n for n, of in labelled.items() if selects(of, selector)], policy["metadata"]


@each_set
def test_ports_lead_to_ports(values: str) -> None:
    open_ = {
        name: {port["name"] for one in pod["spec"]["containers"] for port in one.get("ports", [])}
        for name, pod in pods(values).items()
    }
    services = {one["metadata"]["name"]: one for one in of_kind(values, "Service")}
    for service in services.values():
        (owner,) = [
            name
            for name, pod in pods(values).items()
            if selects(pod["metadata"]["labels"], service["spec"]["selector"])
        ]
        for port in service["spec"]["ports"]:
            assert port["targetPort"] in open_[owner]
    for ingress in of_kind(values, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                backend = path["backend"]["service"]
                ports = services[backend["name"]]["spec"]["ports"]
                assert backend["port"]["name"] in {port["name"] for port in ports}
    named = {port for ports in open_.values() for port in ports}
    for pod in pods(values).values():
        for container in containers(pod):
            own = {port["name"] for port in container.get("ports", [])}
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                asked = container.get(probe, {})
                port = asked.get("httpGet", asked.get("tcpSocket", {})).get("port")
                assert port is None or port in own
    for policy in of_kind(values, "NetworkPolicy"):
        for rule in (*policy["spec"].get("ingress", []), *policy["spec"].get("egress", [])):
            ports = {port["port"] for port in rule.get("ports", [])}
            assert {port for port in ports if isinstance(port, str)} <= named


@each_set
def test_addresses_inside_of_the_cluster_lead_to_services(values: str) -> None:
    """A name that no Service has would be found out by the first request only."""
    services = {one["metadata"]["name"]: one["spec"]["ports"] for one in of_kind(values, "Service")}
    found = 0
    for text in {text for document in rendered(values) for text in strings(document)}:
        scheme, separator, rest = text.partition("://")
        host, _, port = rest.partition("/")[0].partition(":")
        name, *namespace = host.split(".")
        if not separator or scheme not in ("http", "https") or not name.startswith("shoal-"):
            continue
        assert namespace in ([], [NAMESPACE, "svc"]), text
        wanted = int(port) if port else {"http": 80, "https": 443}[scheme]
        assert wanted in {port["port"] for port in services[name]}, text
        found += 1
    assert found >= 2


@each_set
def test_variables_that_others_are_made_of_come_first(values: str) -> None:
    for pod in pods(values).values():
        for container in containers(pod):
            seen: set[str] = set()
            for entry in container.get("env", []):
                for part in str(entry.get("value", "")).split("$(")[1:]:
                    assert part.partition(")")[0] in seen, entry
                assert entry["name"] not in seen, f"{entry['name']} twice"
                seen.add(entry["name"])


def test_the_rules_are_those_of_prometheus() -> None:
    (rule,) = of_kind("high-availability", "PrometheusRule")
    text = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text()
    assert rule["spec"] == yaml.safe_load(text)
    assert "{{ $labels.model }}" in str(rule["spec"]), "Helm has taken Prometheus' templates"


def test_certificates_cover_the_names_that_are_called() -> None:
    values = "ingress-cert-manager"
    made = {name_of(one): one["spec"] for one in of_kind(values, "Certificate")}
    assert made["gateway"]["dnsNames"] == ["scoring.example", "grpc.scoring.example"]
    assert made["studio"]["dnsNames"] == ["studio.example", "scoring.example"]
    (ingress,) = of_kind(values, "Ingress")
    (tls,) = ingress["spec"]["tls"]
    assert tls == {"secretName": made["studio"]["secretName"], "hosts": made["studio"]["dnsNames"]}
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == tls["hosts"]
    authority = made["agents-authority"]
    assert authority["isCA"]
    assert authority["privateKey"] == {
        "algorithm": "ECDSA", "size": 256, "rotationPolicy": "Never",
    }  # fmt: skip
    volumes = pods(values)["setup"]["spec"]["volumes"]
    assert authority["secretName"] in {v.get("secret", {}).get("secretName") for v in volumes}


def test_images_come_from_the_registry_that_was_named() -> None:
    images = {one["image"] for pod in pods("airgapped").values() for one in containers(pod)}
    assert images == {
        f"registry.corp.example/ml/shoal-{name}:2026.11" for name in ("control", "gateway", "node")
    }
    for pod in pods("airgapped").values():
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry-login"}]


def walk(schema: dict[str, Any], values: Any, path: str) -> None:
    """Every value has a text, every text a value, and nothing else is taken."""
    assert schema.get("description"), f"{path} is not documented"
    properties = schema.get("properties")
    if properties is None:
        return
    assert schema["additionalProperties"] is False, path
    assert set(properties) == set(values), path
    for name, part in properties.items():
        walk(part, values[name], f"{path}.{name}")


def test_the_schema_documents_each_value() -> None:
    known = {name: part for name, part in SCHEMA["properties"].items() if name != "global"}
    assert set(known) == set(DEFAULTS)
    assert SCHEMA["additionalProperties"] is False
    for name, part in known.items():
        walk(part, DEFAULTS[name], name)
    for items in (known["nodes"]["items"], known["runtimes"]["items"]):
        for name, part in items["properties"].items():
            assert part.get("description"), name


PAGE = (ROOT / "docs" / "kubernetes.md").read_text()


@pytest.mark.parametrize(
    "block", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
)
def test_values_in_the_documentation_are_taken(block: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(block)
    text = helm("template", "shoal", CHART, "--values", file).stdout
    for document in yaml.safe_load_all(text):
        assert document is None or document["kind"]


@pytest.mark.parametrize(
    "setting",
    [
        "runtimes[0].name=a,runtimes[0].modelsClaim=b",
        "runtimes[0].name=a,runtimes[0].modelsClaim=b,runtimes[0].gpus=1",
        "nodes[0].name=a,nodes[0].kind=Deployment,nodes[0].replicas=0,nodes[0].maxSurge=0",
        "nodes[0].name=a,nodes[0].kind=DaemonSet,nodes[0].readOnlyRootFilesystem=false",
        "nodes=null",
        "gateway.autoscaling.enabled=true,gateway.port=8443",
        "networkPolicy.enabled=false,podDisruptionBudgets=false,storage.existingClaim=x",
    ],
)
def test_what_one_may_say_is_still_valid(setting: str) -> None:
    """The least of a pool, nothing at all, and the ends of ranges."""
    text = helm("template", "shoal", CHART, "--set", setting).stdout
    changed = [one for one in yaml.safe_load_all(text) if one and one not in rendered("minimal")]
    for document in changed:
        if document["kind"] in ("Deployment", "DaemonSet", "HorizontalPodAutoscaler"):
            kubernetes_validate.validate(document, OLDEST, strict=True)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("web.replcas=2", "replcas"),
        ("web.replicas=none", "web.replicas"),
        ("settings.SHOAL_SECRET_KEY=x", "settings"),
        ("settings.SHOAL_PUBLIC_URL=x", "settings"),
        ("settings.DEBUG=x", "settings"),
        ("nodes[0].name=a,nodes[0].kind=StatefulSet", "nodes.0.kind"),
        ("nodes[0].name=a,nodes[0].kind=Deployment", "replicas"),
        ("nodes[0].name=a,nodes[0].kind=DaemonSet,nodes[0].gpu=1", "gpu"),
        ("studio.url=studio.example", "studio.url"),
        ("scoring.url=http://scoring.example", "scoring.url"),
        ("storage.accessMode=ReadOnlyMany", "storage.accessMode"),
        ("ingress.enabled=true", "studio.url"),
        ("certManager.enabled=true", "certManager.issuer.name"),
        ("secrets.keys.secretKey.value=x", "secretKey"),
    ],
)
def test_what_the_chart_does_not_know_is_refused(setting: str, told: str) -> None:
    said = helm("template", "shoal", CHART, "--set", setting, check=False)
    assert said.returncode == 1
    assert told in said.stderr
