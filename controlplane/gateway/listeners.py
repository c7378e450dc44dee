"""The two listeners of a gateway: TLS and plain, with key check, access log and JSON errors. Pure.

Listeners are local to each gateway (addresses, ports, certificates), so no part of a snapshot.
"""

from pathlib import Path
from typing import Any

from controlplane.gateway.fallback import ROUTE_CONFIG
from controlplane.gateway.filters import after_key_check, before_key_check
from controlplane.gateway.keys import discovered
from controlplane.gateway.timing import timing

TYPE = "type.googleapis.com/"
# One line per request; `access_log.py` reads these columns. The path is the client's text: last.
ACCESS_LOG_COLUMNS = (
    "%START_TIME%",  # UTC, to the millisecond: other formats take Envoy longer
    "%METADATA(ROUTE:shoal:endpoint)%",
    "%UPSTREAM_CLUSTER_RAW%",
    "%UPSTREAM_HOST%",  # the replica, of the last try
    "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
    "%RESPONSE_CODE%",
    "%GRPC_STATUS_NUMBER%",
    "%COMMON_DURATION(DS_RX_BEG:DS_TX_END:us)%",
    "%COMMON_DURATION(DS_RX_BEG:DS_RX_END:us)%",  # until the client had sent all of it
    "%COMMON_DURATION(US_RX_BEG:DS_TX_END:us)%",  # until the client had taken all of the answer
    "%BYTES_RECEIVED%",
    "%BYTES_SENT%",
    "%RESPONSE_FLAGS%",
    "%RESPONSE_CODE_DETAILS%",
    "%CONNECTION_ID%",
    "%REQ(INFERENCE-HEADER-CONTENT-LENGTH)%",  # by HTTP: of a request with binary tensors
    "%REQ(X-REQUEST-ID)%",
    "%REQ(:METHOD)%",
    "%PATH(NQ:ORIG_OR_PATH)%",
)
MIB = 1 << 20
RETRY_AFTER = {
    "header": {"key": "retry-after", "value": "1"},
    "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
}
UNANSWERED_TIMING = {
    "header": {"key": "server-timing", "value": timing(answered=False)},
    "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
}

TOO_LARGE = (
    "The request is larger than the %METADATA(ROUTE:shoal:max_request_bytes)% bytes "
    "that this endpoint takes."
)
UNHELD = "No replica of this deployment runs, and the gateway's agent, which wakes one, is away."
TOO_FAST = "More requests per second than this endpoint allows. Try again later."
# why: Envoy's own choice for 413 is UNKNOWN.
GRPC_EXHAUSTED = {
    "header": {"key": "grpc-status", "value": "8"},
    "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
}


def listeners(
    *,
    address: str,
    tls_port: int,
    plain_port: int,
    access_log: str,
    xds_folder: str,
    spans: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """LDS resources. Paths may be relative to Envoy's working folder. ``spans``: see tracing.py."""
    common: dict[str, Any] = {
        "address": address,
        "access_log": access_log,
        "xds": xds_folder,
        "spans": spans,
    }
    return [
        _listener("tls", port=tls_port, tls=True, **common),
        _listener("plain", port=plain_port, tls=False, **common),
    ]


def secret(tls_dir: Path) -> dict[str, Any]:
    """SDS resource: the certificate pair, re-read whenever its folder changes."""
    return {
        "@type": TYPE + "envoy.extensions.transport_sockets.tls.v3.Secret",
        "name": "gateway",
        "tls_certificate": {
            "certificate_chain": {"filename": str(tls_dir / "gateway.pem")},
            "private_key": {"filename": str(tls_dir / "gateway.key")},
            "watched_directory": {"path": str(tls_dir)},
        },
    }


def _listener(
    name: str,
    *,
    address: str,
    port: int,
    tls: bool,
    access_log: str,
    xds: str,
    spans: dict[str, Any] | None,
) -> dict[str, Any]:
    manager = _http(name, access_log=access_log, xds=xds)
    if spans is not None:
        manager["tracing"] = spans
    chain: dict[str, Any] = {
        "filters": [
            {
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": manager,
            }
        ]
    }
    if tls:
        chain["transport_socket"] = _tls_socket(xds)
    return {
        "@type": TYPE + "envoy.config.listener.v3.Listener",
        "name": name,
        "address": {"socket_address": {"address": address, "port_value": port}},
        "filter_chains": [chain],
        "per_connection_buffer_limit_bytes": MIB,
        "enable_reuse_port": True,
    }


def _tls_socket(xds: str) -> dict[str, Any]:
    sds = {
        "name": "gateway",
        "sds_config": {
            "path_config_source": {"path": f"{xds}/sds.json"},
            "resource_api_version": "V3",
        },
    }
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": TYPE + "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {
                "alpn_protocols": ["h2", "http/1.1"],
                "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
                "tls_certificate_sds_secret_configs": [sds],
            },
        },
    }


def _http(name: str, *, access_log: str, xds: str) -> dict[str, Any]:
    return {
        "@type": TYPE
        + "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "codec_type": "AUTO",  # HTTP/1 and, by prior knowledge or ALPN, HTTP/2
        "server_name": "shoal",
        "use_remote_address": True,
        # why: callers at "internal" addresses may steer retries and timeouts by x-envoy-* headers;
        # no list means private networks and loopback, so name an address that nobody has.
        "internal_address_config": {
            "cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": 32}]
        },
        "normalize_path": True,
        "merge_slashes": True,
        "preserve_external_request_id": True,
        "always_set_request_id_in_response": True,
        "request_headers_timeout": "10s",
        "stream_idle_timeout": "300s",  # routes widen it to their own timeout
        "common_http_protocol_options": {"idle_timeout": "3600s"},
        "http2_protocol_options": {
            "max_concurrent_streams": 1000,
            "initial_stream_window_size": 4 * MIB,
            "initial_connection_window_size": 16 * MIB,
        },
        "rds": {
            "route_config_name": ROUTE_CONFIG,
            "config_source": {
                "path_config_source": {"path": f"{xds}/rds/{ROUTE_CONFIG}.json"},
                "resource_api_version": "V3",
            },
        },
        "http_filters": [*before_key_check(), discovered(xds), *after_key_check(), _router()],
        "access_log": [_access_log(access_log)],
        "local_reply_config": local_replies(),
    }


def _router() -> dict[str, Any]:
    router = {
        "@type": TYPE + "envoy.extensions.filters.http.router.v3.Router",
        # why: it looks up counters by status and cluster on each answer, which nobody reads here.
        # The access log has all of that.
        "dynamic_stats": False,
    }
    return {"name": "envoy.filters.http.router", "typed_config": router}


def _access_log(path: str) -> dict[str, Any]:
    return {
        "name": "envoy.access_loggers.file",
        "typed_config": {
            "@type": TYPE + "envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": path,
            "log_format": {
                "text_format_source": {"inline_string": "\t".join(ACCESS_LOG_COLUMNS) + "\n"}
            },
        },
    }


def local_replies() -> dict[str, Any]:
    """What clients read when the gateway itself answers: JSON that Triton's clients can parse.

    For gRPC the plain text becomes grpc-message. Status codes follow Azure's scoring contract:
    408 for a request over its deployment's timeout, 429 when too many wait.
    """
    texts = (
        ("UT", 408, "The model did not answer within this deployment's request timeout."),
        ("SI", 408, "The request was idle for too long."),
        ("UO", 429, "Too many requests are waiting for this deployment. Try again later."),
        ("UH", 503, "No replica of this deployment is healthy."),
        ("NC", 503, "This deployment is not ready yet."),
        ("UF", 503, "No replica of this deployment can be reached."),
        ("UC", 503, "The replica ended the connection before it answered."),
        ("UR", 503, "The replica reset the request before it answered."),
    )
    grpc = {
        "header_filter": {
            "header": {"name": "content-type", "string_match": {"prefix": "application/grpc"}}
        }
    }
    mappers: list[dict[str, Any]] = [
        {
            "filter": _all(grpc, _flag(flag)),
            "body": {"inline_string": text},
            "body_format_override": _plain("%LOCAL_REPLY_BODY%"),
        }
        for flag, _, text in texts
    ]
    # The agent that holds requests refused one, in its own words; or it did not answer.
    asleep: list[tuple[dict[str, Any], str, list[Any]]] = [
        (_all(_flag("UAEX"), _status("EQ", 429)), "%LOCAL_REPLY_BODY%", []),
        (_all(_flag("UAEX"), _status("EQ", 502)), UNHELD, [RETRY_AFTER]),
    ]
    mappers += [
        {
            "filter": _all(grpc, refused),
            "headers_to_add": more,
            "body_format_override": _plain(text),
        }
        for refused, text, more in asleep
    ]
    # Limits of an endpoint set no flag; what a replica answers is never mapped.
    limits = ((413, TOO_LARGE), (429, TOO_FAST))
    mappers += [
        {
            "filter": _all(grpc, _status("EQ", status)),
            "headers_to_add": [GRPC_EXHAUSTED],
            "body_format_override": _plain(text),
        }
        for status, text in limits
    ]
    mappers.append({"filter": grpc, "body_format_override": _plain("%LOCAL_REPLY_BODY%")})
    mappers += [
        {"filter": _flag(flag), "status_code": status, "body": {"inline_string": text}}
        for flag, status, text in texts
    ]
    mappers += [
        {
            "filter": refused,
            "status_code": 503,
            "headers_to_add": more,
            "body_format_override": _json(text),
        }
        for refused, text, more in asleep
    ]
    mappers += [
        {
            "filter": _status("EQ", status),
            "status_code": status,
            "body_format_override": _json(text),
        }
        for status, text in limits
    ]
    mappers.append({"filter": _status("GE", 400)})
    for mapper in mappers:
        waits = mapper.get("status_code") == 429
        mapper["headers_to_add"] = [
            *mapper.get("headers_to_add", []),
            UNANSWERED_TIMING,
            *([RETRY_AFTER] if waits else []),
        ]
    return {
        "mappers": mappers,
        "body_format": _json("%LOCAL_REPLY_BODY%"),
    }


def _all(*filters: dict[str, Any]) -> dict[str, Any]:
    return {"and_filter": {"filters": list(filters)}}


def _flag(flag: str) -> dict[str, Any]:
    return {"response_flag_filter": {"flags": [flag]}}


def _status(comparison: str, status: int) -> dict[str, Any]:
    value = {"default_value": status, "runtime_key": f"shoal.local_reply_status_{status}"}
    return {"status_code_filter": {"comparison": {"op": comparison, "value": value}}}


def _json(text: str) -> dict[str, Any]:
    return {"json_format": {"error": text}, "content_type": "application/json"}


def _plain(text: str) -> dict[str, Any]:
    return {"text_format_source": {"inline_string": text}}
