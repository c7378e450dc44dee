"""Envoy's files for the gateway's benchmark: the product's own, and those of a bare router.

The product's are made by the product: the control plane renders the snapshot (in a process of its
own, which has Django), `bootstrap` prepares the folder, and the agent's code writes the files.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.repository import ROOT
from benchmarks.server import Server
from controlplane.gateway.bootstrap import XDS, prepare
from controlplane.gateway.fallback import ROUTE_CONFIG
from controlplane.gateway.keys import key_check, keys_of
from controlplane.gateway.listeners import TYPE
from controlplane.gateway.lookup import by_endpoint
from controlplane.gateway.names import endpoint_of_cluster
from controlplane.gateway.parts import parts_of, table_of
from controlplane.gateway.settings import GatewaySettings
from controlplane.gateway.xds import XdsFolder
from wire import codec
from wire.messages import GatewaySnapshot

ENDPOINT, KEY = "bench", "benchmark-key-" + "x" * 30
PREFIX = f"/endpoints/{ENDPOINT}"
NEIGHBOUR = "another-{:03}"
_RENDER = """
import hashlib, json, sys
import django
django.setup()
from controlplane.deployments.selectors import (
    KeyHash, RoutedDeployment, RoutedEndpoint, RoutedReplica, RoutingView,
)
from controlplane.gateway.render import render
from wire import codec
job = json.loads(sys.argv[1])
replica = RoutedReplica("r", "127.0.0.1", job["http_port"], job["grpc_port"], draining=False)
blue = RoutedDeployment("blue", 100, 0, 60_000, True, (replica,))
endpoints = [
    RoutedEndpoint(
        name, 1, (KeyHash("primary", hashlib.sha256(key.encode()).hexdigest()),), (blue,)
    )
    for name, key in job["keys"].items()
]
view = RoutingView(tuple(sorted(endpoints, key=lambda endpoint: endpoint.name)))
sys.stdout.buffer.write(codec.encode(render(view)))
"""


def settings_in(home: Path) -> GatewaySettings:
    """A gateway with one worker thread, on free ports of this machine."""
    return GatewaySettings(
        home=home,
        tls_dir=home / "tls",
        control_url="http://127.0.0.1:9",
        control_authority=None,
        token="",
        name="benchmark",
        address="127.0.0.1",
        tls_port=0,
        plain_port=0,
        tls_names=(),
        concurrency=1,
    )


def rendered(server: Server, neighbours: int) -> GatewaySnapshot:
    """What the control plane says of one endpoint in front of ``server``, and of its neighbours."""
    names = [ENDPOINT, *(NEIGHBOUR.format(number) for number in range(neighbours))]
    job = {
        "http_port": server.http_port,
        "grpc_port": server.grpc_port,
        "keys": dict.fromkeys(names, KEY),
    }
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
        "SHOAL_SECRET_KEY": "benchmark-" + "x" * 50,
        "SHOAL_GATEWAY_TOKEN": "benchmark",
    }
    done = subprocess.run(
        [sys.executable, "-c", _RENDER, json.dumps(job)],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return codec.decode(GatewaySnapshot, done.stdout)


def product(home: Path, snapshot: GatewaySnapshot, only: str = "") -> GatewaySettings:
    """Files as the agent leaves them once Envoy has taken the snapshot.

    ``only``: whose clusters are there; all others have none, but their keys and routes.
    """
    settings = prepare(settings_in(home))
    xds = XdsFolder(settings.folder / XDS)
    xds.write_clusters(
        cluster
        for name, cluster in snapshot.clusters.items()
        if only in ("", endpoint_of_cluster(name))
    )
    xds.write_routes(ROUTE_CONFIG, by_endpoint(table_of(snapshot, parts_of(snapshot))))
    xds.write_keys(key_check(keys_of(snapshot)))
    return settings


def bare(home: Path, server: Server) -> GatewaySettings:
    """Envoy between client and ``server``, with all else as it is by default."""
    settings = prepare(settings_in(home))
    file = settings.folder / "bootstrap.json"
    listeners = json.loads((settings.folder / XDS / "lds.json").read_text())["resources"]
    for listener in listeners:
        del listener["@type"]
        del listener["per_connection_buffer_limit_bytes"]
        (chain,) = listener["filter_chains"]
        (network,) = chain["filters"]
        network["typed_config"] = _router(network["typed_config"]["@type"], listener["name"])
    clusters = [_cluster("http", server.http_port), _cluster("grpc", server.grpc_port)]
    content = json.loads(file.read_text())
    plain = {
        "node": content["node"],
        "admin": content["admin"],
        "static_resources": {"listeners": listeners, "clusters": clusters},
    }
    file.write_text(json.dumps(plain))
    return settings


def _router(kind: str, name: str) -> dict[str, Any]:
    routes = [
        {"match": {"prefix": "/", "grpc": {}}, "route": {"cluster": "grpc"}},
        {"match": {"prefix": "/"}, "route": {"cluster": "http"}},
    ]
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": TYPE + "envoy.extensions.filters.http.router.v3.Router"},
    }
    return {
        "@type": kind,
        "stat_prefix": name,
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [router],
    }


def _cluster(name: str, port: int) -> dict[str, Any]:
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    cluster: dict[str, Any] = {
        "name": name,
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    }
    if name == "grpc":
        protocol = TYPE + "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
        version: dict[str, Any] = {"http2_protocol_options": {}}
        cluster["typed_extension_protocol_options"] = {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": protocol,
                "explicit_http_config": version,
            }
        }
    return cluster
