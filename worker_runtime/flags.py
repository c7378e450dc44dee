"""The command line's flags as one table: Triton's, spelled as Triton spells them, and ours."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """``kind``: str, int, bool, list or ``ignored``: accepted with a warning, it changes nothing.

    A ``ignored`` flag that takes no value in Triton has ``bare`` set; so has a switch of ours.
    """

    name: str
    kind: str
    group: str
    text: str
    default: str = ""
    bare: bool = False


def _ignored(group: str, *names: str) -> tuple[Flag, ...]:
    return tuple(Flag(name, "ignored", group, "accepted; has no effect here") for name in names)


FLAGS = (
    Flag("model-repository", "list", "Models", "directory with models; may be given several times"),
    Flag("model-store", "list", "Models", "the same as --model-repository"),
    Flag(
        "model-control-mode",
        "str",
        "Models",
        "none: load everything at start; explicit: load by API",
        "none",
    ),
    Flag("load-model", "list", "Models", "with explicit mode: a model to load at start; * for all"),
    Flag(
        "disable-auto-complete-config",
        "bool",
        "Models",
        "require complete config.pbtxt files",
        "false",
        bare=True,
    ),
    Flag(
        "strict-model-config",
        "bool",
        "Models",
        "deprecated: true equals --disable-auto-complete-config",
        "false",
    ),
    Flag("model-config-name", "str", "Models", "prefer configs/<name>.pbtxt over config.pbtxt"),
    Flag("model-load-thread-count", "int", "Models", "models loaded at the same time", "4"),
    Flag("backend-config", "list", "Models", "<backend>,<key>=<value> or <key>=<value>"),
    Flag("id", "str", "Server", "name in the server metadata", "triton"),
    Flag("exit-on-error", "bool", "Server", "exit when a model cannot be loaded at start", "true"),
    Flag("strict-readiness", "bool", "Server", "ready only when every model is", "true"),
    Flag("exit-timeout-secs", "int", "Server", "seconds to finish running requests at exit", "30"),
    Flag("ready-file", "str", "Server", "write pid and ports here as JSON once all sockets listen"),
    Flag("allow-http", "bool", "HTTP", "serve HTTP", "true"),
    Flag("http-address", "str", "HTTP", "address to listen on", "0.0.0.0"),  # noqa: S104
    Flag("http-port", "int", "HTTP", "port; 0 picks a free one", "8000"),
    Flag(
        "http-max-input-size",
        "int",
        "HTTP",
        "bytes of JSON, compressed or chunked bodies",
        "67108864",
    ),
    Flag("allow-grpc", "bool", "gRPC", "serve gRPC", "true"),
    Flag("grpc-address", "str", "gRPC", "address to listen on", "0.0.0.0"),  # noqa: S104
    Flag("grpc-port", "int", "gRPC", "port; 0 picks a free one", "8001"),
    Flag("allow-metrics", "bool", "Metrics", "serve Prometheus metrics", "true"),
    Flag("allow-cpu-metrics", "bool", "Metrics", "include nv_cpu_*", "true"),
    Flag("metrics-address", "str", "Metrics", "address to listen on (default: that of HTTP)"),
    Flag("metrics-port", "int", "Metrics", "port; 0 picks a free one", "8002"),
    Flag("log-verbose", "int", "Logging", "0: off; 1 and more: verbose", "0"),
    Flag("log-info", "bool", "Logging", "log information", "true"),
    Flag("log-warning", "bool", "Logging", "log warnings", "true"),
    Flag("log-error", "bool", "Logging", "log errors", "true"),
    Flag("log-format", "str", "Logging", "default or ISO8601", "default"),
    Flag("log-file", "str", "Logging", "write the log there instead of stderr"),
    Flag("help", "bool", "Server", "show this text", "false", bare=True),
    *_ignored(
        "Accepted for compatibility",
        "repository-poll-secs",
        "model-namespacing",
        "enable-peer-access",
        "model-load-retry-count",
        "model-load-gpu-limit",
        "reuse-http-port",
        "http-thread-count",
        "http-header-forward-pattern",
        "reuse-grpc-port",
        "grpc-header-forward-pattern",
        "grpc-infer-thread-count",
        "grpc-infer-allocation-pool-size",
        "grpc-max-response-pool-size",
        "grpc-infer-response-compression-level",
        "grpc-keepalive-time",
        "grpc-keepalive-timeout",
        "grpc-keepalive-permit-without-calls",
        "grpc-http2-max-pings-without-data",
        "grpc-http2-min-recv-ping-interval-without-data",
        "grpc-http2-max-ping-strikes",
        "grpc-max-connection-age",
        "grpc-max-connection-age-grace",
        "allow-gpu-metrics",
        "metrics-interval-ms",
        "metrics-config",
        "trace-config",
        "trace-file",
        "trace-level",
        "trace-rate",
        "trace-count",
        "trace-log-frequency",
        "backend-directory",
        "cache-config",
        "cache-directory",
        "response-cache-byte-size",
        "rate-limit",
        "rate-limit-resource",
        "pinned-memory-pool-byte-size",
        "cuda-memory-pool-byte-size",
        "cuda-virtual-address-size",
        "min-supported-compute-capability",
        "buffer-manager-thread-count",
        "host-policy",
        "repoagent-directory",
        "allow-client-shm",
        "allow-sagemaker",
        "sagemaker-port",
        "sagemaker-safe-port-range",
        "sagemaker-thread-count",
        "allow-vertex-ai",
        "vertex-ai-port",
        "vertex-ai-thread-count",
        "vertex-ai-default-model",
    ),
)

# why refused, not ignored: who asks for these would believe to be protected.
REFUSED = {
    "grpc-use-ssl": "TLS is the gateway's business: put one in front",
    "grpc-use-ssl-mutual": "TLS is the gateway's business: put one in front",
    "grpc-server-cert": "TLS is the gateway's business: put one in front",
    "grpc-server-key": "TLS is the gateway's business: put one in front",
    "grpc-root-cert": "TLS is the gateway's business: put one in front",
    "http-restricted-api": "restricted APIs are not available yet",
    "grpc-restricted-protocol": "restricted APIs are not available yet",
}

BY_NAME = {flag.name: flag for flag in FLAGS}
