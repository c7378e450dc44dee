"""Clusters with their endpoints: one HTTP and one gRPC cluster per deployment. Pure."""

import socket
from collections.abc import Mapping
from typing import Any

from controlplane.deployments.selectors import RoutedDeployment, RoutedReplica

TYPE = "type.googleapis.com/"
HTTP, GRPC = "http", "grpc"
CONNECT_TIMEOUT = "2s"
SILENCE_MS = 10_000
TCP_USER_TIMEOUT = 18  # of Linux, where Envoy runs, whatever this process runs on
MIB = 1 << 20
MAX_REQUESTS = 16_384


def cluster(name: str, protocol: str, deployment: RoutedDeployment) -> dict[str, Any]:
    """CDS resource, with the addresses of the deployment's replicas.

    why no endpoint discovery (EDS): from files it takes a file and an inotify instance of each
    cluster, of which a user has 128 by default; Envoy ends when there is none left.
    """
    return {
        "@type": TYPE + "envoy.config.cluster.v3.Cluster",
        "name": name,
        "type": "STATIC",
        "load_assignment": _load_assignment(name, protocol, deployment.replicas),
        "connect_timeout": CONNECT_TIMEOUT,
        **_silence(),
        "lb_policy": "LEAST_REQUEST",
        "per_connection_buffer_limit_bytes": MIB,
        "common_lb_config": {
            # why: when none looks healthy, trying one beats refusing: it may just have come up.
            "healthy_panic_threshold": {"value": 1},
            # why: by default Envoy collects changes of health for a second before it acts on them,
            # and meanwhile sends requests to replicas that drain.
            "update_merge_window": "0s",
        },
        "health_checks": [_health_check(deployment.readiness_probe)],
        "outlier_detection": _outliers(),
        "circuit_breakers": {"thresholds": [_limits(deployment.max_concurrent_requests)]},
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": _protocol(protocol)
        },
    }


def _silence() -> dict[str, Any]:
    """A machine that is gone says nothing, and requests under way there would wait for their own
    timeout. Its kernel confirms no bytes either: after ten seconds the connection counts as broken,
    and they are tried again elsewhere. Where a model thinks for longer the kernel does confirm."""
    return {
        "upstream_connection_options": {
            "tcp_keepalive": {"keepalive_time": 5, "keepalive_interval": 1, "keepalive_probes": 5}
        },
        "upstream_bind_config": {
            "socket_options": [
                {
                    "description": "TCP_USER_TIMEOUT",
                    "level": str(socket.IPPROTO_TCP),
                    "name": str(TCP_USER_TIMEOUT),
                    "int_value": str(SILENCE_MS),
                    "state": "STATE_PREBIND",
                }
            ]
        },
    }


def _load_assignment(
    name: str, protocol: str, replicas: tuple[RoutedReplica, ...]
) -> dict[str, Any]:
    hosts = [_host(replica, protocol) for replica in _one_per_address(replicas)]
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": hosts}] if hosts else []}


def _one_per_address(replicas: tuple[RoutedReplica, ...]) -> list[RoutedReplica]:
    """A port that was given again belongs to who answers there, not to who is leaving."""
    found: dict[tuple[str, int], RoutedReplica] = {}
    for replica in sorted(replicas, key=lambda item: (not item.draining, item.replica_id)):
        found[replica.address, replica.http_port] = replica
    return sorted(found.values(), key=lambda item: item.replica_id)


def _host(replica: RoutedReplica, protocol: str) -> dict[str, Any]:
    port = replica.http_port if protocol == HTTP else replica.grpc_port
    endpoint: dict[str, Any] = {
        "address": {"socket_address": {"address": replica.address, "port_value": port}}
    }
    if protocol == GRPC:
        endpoint["health_check_config"] = {"port_value": replica.http_port}
    host: dict[str, Any] = {"endpoint": endpoint}
    if replica.draining:
        host["health_status"] = "DRAINING"
    return host


def _health_check(readiness: Mapping[str, int] | None) -> dict[str, Any]:
    """By the deployment's probe; without one often, also without traffic, so that a dead replica
    leaves and a new one joins at once."""
    question = {"http_health_check": {"path": "/v2/health/ready", "codec_client_type": "HTTP1"}}
    if readiness is not None:
        period = f"{readiness['period']}s"
        return {
            "timeout": f"{readiness['timeout']}s",
            "interval": period,
            "no_traffic_interval": period,
            "no_traffic_healthy_interval": period,
            "unhealthy_threshold": readiness["failure_threshold"],
            "healthy_threshold": readiness["success_threshold"],
            **question,
        }
    return {
        "timeout": "3s",
        "interval": "0.5s",
        "no_traffic_interval": "1s",
        "no_traffic_healthy_interval": "1s",
        "unhealthy_interval": "0.25s",
        "unhealthy_edge_interval": "0.25s",
        "healthy_edge_interval": "0.5s",
        "unhealthy_threshold": 2,
        "healthy_threshold": 1,
        **question,
    }


def _outliers() -> dict[str, Any]:
    """A replica that answers health checks but not its callers rests for a while.

    Only what a broken replica does counts: connections that fail or break, requests that time out,
    and ``_failures``.
    """
    return {
        # why not told apart by origin: then every connection that opens counts as a success.
        "split_external_local_origin_errors": False,
        "consecutive_gateway_failure": 10,
        "enforcing_consecutive_gateway_failure": 100,
        "enforcing_consecutive_5xx": 0,
        "enforcing_success_rate": 0,
        "interval": "1s",
        "base_ejection_time": "5s",
        "max_ejection_time": "60s",
        # why: it passes its checks all the while; they would bring it back twice a second.
        "successful_active_health_check_uneject_host": False,
        "max_ejection_percent": 50,  # trouble that all replicas have is not theirs
    }


def _failures() -> dict[str, Any]:
    """The answers over HTTP of a replica that is broken: 502 to 504.

    A model's own 500 may be the fault of one caller's input. Who says when to come again only has
    too much to do: without it the others would have even more. In gRPC runtimes tell these two
    apart by the place of the status, and Envoy asks no matcher.
    """
    broken = {"name": ":status", "range_match": {"start": 502, "end": 505}}  # not 505 itself
    sound = {"name": "retry-after", "present_match": False}
    return {"http_response_headers_match": {"headers": [broken, sound]}}


def _limits(concurrency: int | None) -> dict[str, Any]:
    """``concurrency``: requests that all replicas together work on at a time; as many again may
    wait."""
    return {
        # why: they bound HTTP/1 concurrency besides max_requests.
        "max_connections": 4096,
        "max_pending_requests": 4096,
        # over this the answer is 429; those under it wait in the runtime's queue, or for a batch
        "max_requests": MAX_REQUESTS if concurrency is None else 2 * concurrency,
        # why: a replica that dies with many requests in flight needs them all retried at once.
        "retry_budget": {"budget_percent": {"value": 25}, "min_retry_concurrency": 32},
    }


def _protocol(protocol: str) -> dict[str, Any]:
    http = protocol == HTTP
    version: dict[str, Any] = (
        {"http_protocol_options": {}}
        if http
        else {
            "http2_protocol_options": {
                "initial_stream_window_size": 4 * MIB,
                "initial_connection_window_size": 16 * MIB,
            }
        }
    )
    return {
        "@type": TYPE + "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": version,
        "common_http_protocol_options": {"idle_timeout": "60s"},
        **({"outlier_detection": {"error_matcher": _failures()}} if http else {}),
    }
