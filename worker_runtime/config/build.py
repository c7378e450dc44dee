"""The checked values of all flags to one Settings."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from worker_runtime.config import clouds, pairs, tracing
from worker_runtime.config.arguments import HelpRequested, UsageError, Values, split
from worker_runtime.config.settings import (
    CAPTURE_HASH_KEY,
    ESCAPE_LOG,
    ControlMode,
    HttpOptions,
    Settings,
    variable,
)
from worker_runtime.observability.capture.settings import CaptureConfig, read_config
from worker_runtime.observability.logging import FORMATS, LogOptions
from worker_runtime.observability.metrics.latency import QUANTILES, MetricsConfig
from worker_runtime.types.listening import (
    CompressionLevel,
    ConnectionLimits,
    GrpcFrontend,
    GrpcOptions,
    Keepalive,
    TlsFiles,
)

_METRICS = ("counter_latencies", "histogram_latencies", "summary_latencies", "summary_quantiles")


def parse(arguments: Sequence[str]) -> Settings:
    """Settings from the arguments behind the program's name. Raises UsageError, HelpRequested."""
    take = Values(split(arguments))
    if take.given("help"):
        raise HelpRequested
    _check_ineffective(take)
    http = clouds.own_listener(take, "http")
    settings = Settings(
        repositories=_repositories(take),
        http=http,
        grpc=clouds.own_listener(take, "grpc"),
        metrics=take.listener("metrics", http.address),
        sagemaker=clouds.sagemaker(take, http.address),
        sagemaker_options=clouds.sagemaker_options(),
        vertex=clouds.vertex(take, http.address),
        vertex_options=clouds.vertex_options(take),
        http_options=_http_options(take),
        grpc_options=_grpc_options(take),
        connection_limits=ConnectionLimits(
            connections=take.optional_number("max-connections"),
            unread_s=take.number("unread-timeout-secs"),
            idle_s=take.number("idle-timeout-secs"),
            head_s=take.number("head-timeout-secs"),
            body_s=take.number("body-timeout-secs"),
            buffered_bytes=take.optional_number("max-buffered-bytes"),
            buffered_bytes_per_connection=take.number("max-buffered-bytes-per-connection"),
        ),
        frontends=take.number("frontends"),
        server_id=take.text("id"),
        control_mode=ControlMode(take.choice("model-control-mode", ControlMode)),
        poll_interval_s=take.number("repository-poll-secs"),
        load_models=_load_models(take),
        exit_on_error=take.flag("exit-on-error"),
        strict_readiness=take.flag("strict-readiness"),
        auto_complete=not (
            take.given("disable-auto-complete-config") or take.flag("strict-model-config")
        ),
        config_name=take.text("model-config-name"),
        model_namespacing=take.flag("model-namespacing"),
        load_threads=max(1, take.number("model-load-thread-count")),
        load_retries=max(0, take.number("model-load-retry-count")),
        load_gpu_limits=pairs.gpu_limits(take.many("model-load-gpu-limit")),
        exit_timeout_s=max(0, take.number("exit-timeout-secs")),
        drain_s=take.number("drain-secs"),
        unload_timeout_s=take.number("unload-timeout-secs"),
        max_queue_wait_ms=take.number("max-queue-wait-ms"),
        client_shared_memory=take.flag("allow-client-shm"),
        cache_config=_cache_config(take),
        rate_limit=take.choice("rate-limit", ("execution_count", "off")) != "off",
        rate_limit_resources=pairs.rate_limit_resources(take.many("rate-limit-resource")),
        host_policies=pairs.host_policies(take.many("host-policy")),
        backend_settings=pairs.backend_settings(take.many("backend-config")),
        backend_directory=_path(take, "backend-directory"),
        allow_code=pairs.allowed_code(take.many("allow-code")),
        pinned_pool_bytes=take.number("pinned-memory-pool-byte-size"),
        cpu_metrics=take.flag("allow-cpu-metrics") and take.flag("allow-metrics"),
        gpu_metrics=take.flag("allow-gpu-metrics") and take.flag("allow-metrics"),
        metrics_interval_ms=max(1, take.number("metrics-interval-ms")),
        metrics_config=_metrics_config(take),
        trace=tracing.trace_config(take),
        log=_log_options(take),
        access_log=take.text("access-log"),
        capture=_capture(take),
        ready_file=_path(take, "ready-file"),
        warnings=tuple(_warnings(take)),
        deprecations=tuple(_deprecations(take)),
    )
    _check_ports(take, settings)
    _check_frontends(settings)
    return settings


def _path(take: Values, name: str) -> Path | None:
    return Path(take.text(name)) if take.text(name) else None


def _repositories(take: Values) -> tuple[Path, ...]:
    given = (*take.many("model-repository"), *take.many("model-store"))
    found = tuple(Path(path) for path in dict.fromkeys(given)) or clouds.repository()
    if not found:
        raise UsageError("--model-repository must be specified")
    return found


def _load_models(take: Values) -> tuple[str, ...] | None:
    explicit = take.text("model-control-mode").lower() == ControlMode.EXPLICIT
    names = tuple(dict.fromkeys(take.many("load-model")))
    if not explicit:
        if names:
            raise UsageError(
                "Error: Use of '--load-model' requires setting "
                "'--model-control-mode=explicit' as well."
            )
        return None
    if "*" in names:
        if len(names) > 1:
            raise UsageError(
                "Wildcard model name '*' must be the ONLY startup model if specified at all."
            )
        return None
    return names


def _http_options(take: Values) -> HttpOptions:
    return HttpOptions(
        max_input_bytes=take.number("http-max-input-size"),
        max_body_bytes=take.number("http-max-body-size"),
        tls=_http_tls(take),
        forward_pattern=take.text("http-header-forward-pattern"),
        restrictions=pairs.restrictions(
            "http-restricted-api", "api", take.many("http-restricted-api")
        ),
    )


def _http_tls(take: Values) -> TlsFiles | None:
    if not take.flag("http-use-ssl"):
        return None
    root = take.text("http-root-cert")
    return TlsFiles(
        take.text("http-server-cert"), take.text("http-server-key"), root, mutual=bool(root)
    )


def _grpc_options(take: Values) -> GrpcOptions:
    # why given counts for mutual: in Triton --grpc-use-ssl-mutual=false turns TLS on as well.
    tls = take.flag("grpc-use-ssl") or take.given("grpc-use-ssl-mutual")
    files = TlsFiles(
        server_cert=take.text("grpc-server-cert"),
        server_key=take.text("grpc-server-key"),
        root_cert=take.text("grpc-root-cert"),
        mutual=take.flag("grpc-use-ssl-mutual"),
    )
    return GrpcOptions(
        frontend=GrpcFrontend(take.choice("grpc-frontend", GrpcFrontend)),
        tls=files if tls else None,
        compression=CompressionLevel(
            take.choice("grpc-infer-response-compression-level", CompressionLevel)
        ),
        keepalive=Keepalive(
            time_ms=take.number("grpc-keepalive-time"),
            timeout_ms=take.number("grpc-keepalive-timeout"),
            permit_without_calls=take.flag("grpc-keepalive-permit-without-calls"),
            max_pings_without_data=take.number("grpc-http2-max-pings-without-data"),
            min_recv_ping_interval_without_data_ms=take.number(
                "grpc-http2-min-recv-ping-interval-without-data"
            ),
            max_ping_strikes=take.number("grpc-http2-max-ping-strikes"),
            max_connection_age_ms=take.optional_number("grpc-max-connection-age"),
            max_connection_age_grace_ms=take.optional_number("grpc-max-connection-age-grace"),
        ),
        forward_pattern=take.text("grpc-header-forward-pattern"),
        restrictions=pairs.restrictions(
            "grpc-restricted-protocol", "protocol", take.many("grpc-restricted-protocol")
        ),
        max_inflated_bytes=take.number("grpc-max-inflated-size"),
        max_concurrent_streams=take.number("grpc-max-concurrent-streams"),
        resets_per_second=take.number("grpc-max-resets-per-second"),
        control_frames_per_second=take.number("grpc-max-control-frames-per-second"),
    )


def _cache_config(take: Values) -> pairs.Pairs:
    if not take.given("response-cache-byte-size"):
        return pairs.cache_config(take.many("cache-config"))
    if take.given("cache-config"):
        raise UsageError(
            "Error: Incompatible flags --response-cache-byte-size and --cache-config both "
            "provided. Please provide one or the other."
        )
    return {"local": {"size": str(take.number("response-cache-byte-size"))}}


def _metrics_config(take: Values) -> MetricsConfig:
    found = dict(pairs.metrics_pairs(take.many("metrics-config")))
    return MetricsConfig(
        counters=found.get("counter_latencies") != "false",
        histograms=found.get("histogram_latencies") == "true",
        summaries=found.get("summary_latencies") == "true",
        quantiles=(
            pairs.quantiles(found["summary_quantiles"])
            if "summary_quantiles" in found
            else QUANTILES
        ),
    )


def _log_options(take: Values) -> LogOptions:
    verbose = take.text("log-verbose").lower()
    level = {"true": 1, "false": 0}.get(verbose)
    return LogOptions(
        verbose=take.number("log-verbose") if level is None else level,
        info=take.flag("log-info"),
        warning=take.flag("log-warning"),
        error=take.flag("log-error"),
        format=take.choice("log-format", FORMATS, lower=False),
        file=take.text("log-file"),
        escaped=variable(ESCAPE_LOG).upper() != "FALSE",
    )


def _capture(take: Values) -> CaptureConfig | None:
    """None: nothing is captured. Raises UsageError."""
    text, directory = take.text("capture-config"), take.text("capture-directory")
    if not text:
        if directory:
            raise UsageError(f"--capture-directory={directory} needs --capture-config")
        return None
    try:
        return read_config(text, directory, variable(CAPTURE_HASH_KEY))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _check_ineffective(take: Values) -> None:
    """Values of flags without effect are checked all the same: a typing error is one."""
    for name in ("cuda-memory-pool-byte-size", "cuda-virtual-address-size"):
        pairs.check_pools(name, take.many(name))


def _check_ports(take: Values, settings: Settings) -> None:
    others = (
        ("HTTP", settings.http),
        ("GRPC", settings.grpc),
        ("metrics", settings.metrics),
        ("Vertex AI", settings.vertex),
    )
    clouds.check_safe_ports(take, others)
    listeners = (*others, ("SageMaker", settings.sagemaker))
    for (one, first), (other, second) in combinations(listeners, 2):
        both = first.enabled and second.enabled and first.port != 0
        if both and (first.address, first.port) == (second.address, second.port):
            raise UsageError(
                f"The server cannot listen to {one} requests and {other} requests at the same "
                f"address and port {first.address}:{first.port}"
            )


def _check_frontends(settings: Settings) -> None:
    """What cannot be served by processes of its own is refused, not served otherwise."""
    if not settings.frontends:
        return
    grpcio = settings.grpc.enabled and settings.grpc_options.frontend is GrpcFrontend.GRPCIO
    for given, flag in (
        (grpcio, "--grpc-frontend=grpcio"),
        (settings.sagemaker.enabled, "--allow-sagemaker=true"),
        (settings.vertex.enabled, "--allow-vertex-ai=true"),
    ):
        if given:
            raise UsageError(
                f"--frontends is {settings.frontends}, which cannot be combined with {flag}: "
                "expected --frontends=0 there"
            )


def _warnings(take: Values) -> Iterator[str]:
    for flag in take.flags:
        if not flag.effect:
            yield f"--{flag.name} has no effect here: {flag.text}"
    for setting, _ in pairs.metrics_pairs(take.many("metrics-config")):
        if setting not in _METRICS:
            yield f"--metrics-config: unknown setting '{setting}' (known: {', '.join(_METRICS)})"


def _deprecations(take: Values) -> Iterator[str]:
    if take.given("strict-model-config"):
        yield (
            "Warning: '--strict-model-config' has been deprecated! "
            "Please use '--disable-auto-complete-config' instead."
        )
    if take.given("response-cache-byte-size"):
        size = take.number("response-cache-byte-size")
        yield (
            "Warning: '--response-cache-byte-size' has been deprecated! This will default to the "
            "'local' cache implementation with the provided byte size for its config. Please use "
            "'--cache-config' instead. The equivalent --cache-config CLI args would be: "
            f"'--cache-config=local,size={size}'"
        )
    yield from tracing.deprecations(take)
