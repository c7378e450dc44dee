"""Spans of the gateway's part of a request, by OTLP: what Envoy is told of them. Pure.

A caller's `traceparent` is taken up, and a replica is given Envoy's span as its parent.
"""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from wire.addresses import PORTS

TYPE = "type.googleapis.com/"
COLLECTOR = "traces"  # the cluster
SERVICE = "shoal-gateway"
TIMEOUT = "10s"
# Of Envoy's runtime: by default it sends after five spans, which is a call for every few requests.
BATCHES = {
    "tracing.opentelemetry.min_flush_spans": 256,
    "tracing.opentelemetry.flush_interval_ms": 1000,
}
_TAGS = {"shoal.endpoint": "endpoint"}  # name -> what the route's metadata calls it


def tracing(url: str, percent: int) -> dict[str, Any]:
    """Of a connection manager. ``percent``: of requests whose caller has not decided it."""
    return {
        "custom_tags": [
            {
                "tag": tag,
                "metadata": {
                    "kind": {"route": {}},
                    "metadata_key": {"key": "shoal", "path": [{"key": key}]},
                },
            }
            for tag, key in _TAGS.items()
        ],
        "provider": {
            "name": "envoy.tracers.opentelemetry",
            "typed_config": {
                "@type": TYPE + "envoy.config.trace.v3.OpenTelemetryConfig",
                "service_name": SERVICE,
                "sampler": _sampler(percent),
                "http_service": {
                    "http_uri": {"uri": url, "cluster": COLLECTOR, "timeout": TIMEOUT}
                },
            },
        },
    }


def _sampler(percent: int) -> dict[str, Any]:
    """As its caller has decided; where nobody has, by the trace's id.

    why not Envoy's own `random_sampling`: it leaves out what a caller has sampled.
    """
    kind = TYPE + "envoy.extensions.tracers.opentelemetry.samplers.v3."
    name = "envoy.tracers.opentelemetry.samplers."
    ratio = {
        "@type": kind + "TraceIdRatioBasedSamplerConfig",
        "sampling_percentage": {"numerator": percent, "denominator": "HUNDRED"},
    }
    return {
        "name": name + "parent_based",
        "typed_config": {
            "@type": kind + "ParentBasedSamplerConfig",
            "wrapped_sampler": {"name": name + "trace_id_ratio_based", "typed_config": ratio},
        },
    }


def collector(url: str, authorities: str) -> dict[str, Any]:
    """The cluster that spans are sent to; ``authorities``: a file of those that may vouch for it
    where that is by TLS."""
    parts = urlsplit(url)
    host = {"address": parts.hostname, "port_value": parts.port or PORTS[parts.scheme]}
    cluster: dict[str, Any] = {
        "name": COLLECTOR,
        # one host with all addresses of the name, tried one after the other (RFC 8305); by
        # STRICT_DNS each address is a host, and those where nobody listens cost their spans
        "type": "LOGICAL_DNS",
        # why not as Envoy does by itself: of a name with both it knows the IPv6 ones alone
        "dns_lookup_family": "ALL",
        "connect_timeout": "5s",
        "load_assignment": {
            "cluster_name": COLLECTOR,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": host}}}]}],
        },
    }
    if parts.scheme == "https":
        shown = _name_in_certificate(parts.hostname or "")
        server = {"sni": parts.hostname} if shown["san_type"] == "DNS" else {}
        cluster["transport_socket"] = {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": TYPE + "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                **server,
                "common_tls_context": {
                    "validation_context": {
                        # why not `system_root_certs`: Envoy has not made it yet, and does not
                        # begin with a name to look for and nobody to trust
                        "trusted_ca": {"filename": authorities},
                        "match_typed_subject_alt_names": [shown],
                    }
                },
            },
        }
    return cluster


def _name_in_certificate(host: str) -> dict[str, Any]:
    try:
        return {"san_type": "IP_ADDRESS", "matcher": {"exact": str(ip_address(host))}}
    except ValueError:
        return {"san_type": "DNS", "matcher": {"exact": host}}
