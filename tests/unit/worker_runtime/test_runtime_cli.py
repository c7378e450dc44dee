"""The command line: Triton's spellings and words, whole command lines and single values."""

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from worker_runtime.config import HelpRequested, UsageError, help_text, parse
from worker_runtime.config.flags import FLAGS, GROUPS
from worker_runtime.config.help import flags_table
from worker_runtime.config.settings import (
    ControlMode,
    Listener,
    RateLimitResource,
    Settings,
)
from worker_runtime.observability.logging import LogOptions
from worker_runtime.observability.metrics.latency import MetricsConfig
from worker_runtime.observability.tracing.config import Level, Mode, TraceConfig
from worker_runtime.types.listening import (
    Category,
    CompressionLevel,
    GrpcOptions,
    Keepalive,
    Restriction,
    SageMakerOptions,
    TlsFiles,
    VertexOptions,
    inherited,
)


def settings(tmp_path: Path, *arguments: str) -> Settings:
    return parse([f"--model-repository={tmp_path}", *arguments])


def test_defaults_are_those_of_triton(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert found == Settings(repositories=(tmp_path,))
    assert (found.http.port, found.grpc.port, found.metrics.port) == (8000, 8001, 8002)
    assert found.http.address == "0.0.0.0"


def test_shared_memory_of_clients_is_on_unless_told(tmp_path: Path) -> None:
    assert settings(tmp_path).client_shared_memory
    assert not settings(tmp_path, "--allow-client-shm=false").client_shared_memory


# one line, and what it changes of the default settings
LINES: list[tuple[str, dict[str, Any]]] = [
    ("--id me", {"server_id": "me"}),
    ("--id=--me", {"server_id": "--me"}),
    ("--id --me", {"server_id": "--me"}),
    ("--exit-on-error false", {"exit_on_error": False}),
    ("--exit-on-error=Off", {"exit_on_error": False}),
    ("--strict-readiness=0", {"strict_readiness": False}),
    ("--disable-auto-complete-config", {"auto_complete": False}),
    ("--strict-model-config=true", {"auto_complete": False}),
    ("--strict-model-config=false --disable-auto-complete-config", {"auto_complete": False}),
    ("--strict-model-config=false", {}),
    ("--model-control-mode=NONE", {}),
    (
        "--model-control-mode=poll --repository-poll-secs=1",
        {"control_mode": ControlMode.POLL, "poll_interval_s": 1},
    ),
    ("--model-control-mode=explicit", {"control_mode": ControlMode.EXPLICIT, "load_models": ()}),
    (
        "--model-control-mode explicit --load-model=a --load-model b --load-model=a",
        {"control_mode": ControlMode.EXPLICIT, "load_models": ("a", "b")},
    ),
    ("--model-control-mode=explicit --load-model=*", {"control_mode": ControlMode.EXPLICIT}),
    ("--model-config-name=h100", {"config_name": "h100"}),
    ("--model-namespacing=true", {"model_namespacing": True}),
    ("--model-load-thread-count=0", {"load_threads": 1}),
    ("--model-load-retry-count=2", {"load_retries": 2}),
    (
        "--model-load-gpu-limit 0:0.4 --model-load-gpu-limit=1:1",
        {"load_gpu_limits": {0: 0.4, 1: 1}},
    ),
    ("--exit-timeout-secs=-1", {"exit_timeout_s": 0}),
    ("--exit-timeout-secs=120", {"exit_timeout_s": 120}),
    (
        "--backend-config=default-max-batch-size=8 --backend-config=onnxruntime,k=v=w",
        {"backend_settings": {"": {"default-max-batch-size": "8"}, "onnxruntime": {"k": "v=w"}}},
    ),
    (
        "--cache-config local,size=1048576 --cache-config=redis,host=h --cache-config redis,port=1",
        {
            "cache_config": {
                "local": {"size": "1048576"},
                "redis": {"host": "h", "port": "1"},
            }
        },
    ),
    ("--response-cache-byte-size=10", {"cache_config": {"local": {"size": "10"}}}),
    ("--rate-limit=execution_count", {"rate_limit": True}),
    ("--rate-limit OFF", {}),
    (
        "--rate-limit-resource=R1:10 --rate-limit-resource R2:2:3",
        {"rate_limit_resources": (RateLimitResource("R1", 10), RateLimitResource("R2", 2, 3))},
    ),
    (
        "--host-policy=gpu_0,numa-node=0 --host-policy=gpu_0,cpu-cores=0-1",
        {"host_policies": {"gpu_0": {"numa-node": "0", "cpu-cores": "0-1"}}},
    ),
    ("--allow-cpu-metrics=false", {"cpu_metrics": False}),
    ("--allow-gpu-metrics=false", {"gpu_metrics": False}),
    ("--metrics-interval-ms=500", {"metrics_interval_ms": 500}),
    (
        "--metrics-config counter_latencies=false --metrics-config=summary_latencies=true "
        "--metrics-config histogram_latencies=true "
        "--metrics-config=summary_quantiles=0.4:0.1,0.99:0.001",
        {
            "metrics_config": MetricsConfig(
                counters=False,
                histograms=True,
                summaries=True,
                quantiles=((0.4, 0.1), (0.99, 0.001)),
            )
        },
    ),
    ("--log-verbose=true", {"log": LogOptions(verbose=1)}),
    (
        "--log-verbose 2 --log-info=false --log-warning=false --log-error=false "
        "--log-format=ISO8601 --log-file=x.log",
        {
            "log": LogOptions(
                verbose=2, info=False, warning=False, error=False, format="ISO8601", file="x.log"
            )
        },
    ),
    (
        "--log-format=json --access-log=-",
        {"log": LogOptions(format="json"), "access_log": "-"},
    ),
    (
        "--trace-config rate=1 --trace-config level=TIMESTAMPS --trace-config=level=TENSORS "
        "--trace-config count=100 --trace-config mode=triton --trace-config triton,file=t.json "
        "--trace-config=triton,log-frequency=10",
        {
            "trace": TraceConfig(
                levels=frozenset(Level),
                rate=1,
                count=100,
                file="t.json",
                log_frequency=10,
                options=(("file", "t.json"), ("log-frequency", "10")),
            )
        },
    ),
    ("--trace-config level=TIMESTAMPS --trace-config level=OFF", {}),
    (
        "--trace-file=old --trace-level=MAX --trace-rate=2 --trace-count=3 --trace-log-frequency=4",
        {
            "trace": TraceConfig(
                levels=frozenset({Level.TIMESTAMPS}), rate=2, count=3, file="old", log_frequency=4
            )
        },
    ),
    (
        "--trace-rate=2 --trace-config rate=5",
        {"trace": TraceConfig(rate=5)},
    ),
    (
        "--trace-config mode=OpenTelemetry --trace-config=level=TIMESTAMPS "
        "--trace-config=opentelemetry,url=localhost:10000/v1/traces "
        "--trace-config=opentelemetry,resource=service.name=a,b --trace-config triton,file=unused",
        {
            "trace": TraceConfig(
                mode=Mode.OPENTELEMETRY,
                levels=frozenset({Level.TIMESTAMPS}),
                options=(
                    ("url", "localhost:10000/v1/traces"),
                    ("resource", "service.name=a,b"),
                ),
            )
        },
    ),
    (
        "--grpc-keepalive-time=1 --grpc-keepalive-timeout=2 "
        "--grpc-keepalive-permit-without-calls=1 --grpc-http2-max-pings-without-data=3 "
        "--grpc-http2-max-ping-strikes=4 "
        "--grpc-http2-min-recv-ping-interval-without-data=5 --grpc-max-connection-age=6 "
        "--grpc-max-connection-age-grace=7",
        {
            "grpc_options": GrpcOptions(
                keepalive=Keepalive(
                    time_ms=1,
                    timeout_ms=2,
                    permit_without_calls=True,
                    max_pings_without_data=3,
                    min_recv_ping_interval_without_data_ms=5,
                    max_ping_strikes=4,
                    max_connection_age_ms=6,
                    max_connection_age_grace_ms=7,
                )
            )
        },
    ),
    (
        "--grpc-use-ssl=1 --grpc-use-ssl-mutual=1 --grpc-server-cert server.crt "
        "--grpc-server-key server.key --grpc-root-cert ca.crt",
        {"grpc_options": GrpcOptions(tls=TlsFiles("server.crt", "server.key", "ca.crt", True))},
    ),
    (
        "--grpc-use-ssl=true --grpc-server-cert=c --grpc-server-key=k",
        {"grpc_options": GrpcOptions(tls=TlsFiles("c", "k"))},
    ),
    (
        "--grpc-infer-response-compression-level=HIGH --grpc-header-forward-pattern=.*",
        {"grpc_options": GrpcOptions(compression=CompressionLevel.HIGH, forward_pattern=".*")},
    ),
    ("--pinned-memory-pool-byte-size=0", {"pinned_pool_bytes": 0}),
]


@pytest.mark.parametrize(("line", "changes"), LINES, ids=[line for line, _ in LINES])
def test_what_a_command_line_means(tmp_path: Path, line: str, changes: dict[str, Any]) -> None:
    found = settings(tmp_path, *shlex.split(line))
    plain = structs.replace(found, warnings=(), deprecations=())
    assert plain == structs.replace(settings(tmp_path), **changes)


def test_restricted_parts_of_the_api(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "--http-restricted-api=model-repository,health:k1=v1",
        "--http-restricted-api",
        "inference:k2=v2=w",
        "--grpc-restricted-protocol=shared-memory:admin-key=x",
    )
    assert found.http_options.restrictions == {
        Category.MODEL_REPOSITORY: Restriction("k1", "v1"),
        Category.HEALTH: Restriction("k1", "v1"),
        Category.INFERENCE: Restriction("k2", "v2=w"),
    }
    assert found.grpc_options.restrictions == {
        Category.SHARED_MEMORY: Restriction("admin-key", "x")
    }


def test_repositories_add_up(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    found = settings(tmp_path, f"--model-store={other}", f"--model-repository={tmp_path}")
    assert found.repositories == (tmp_path, other)


def test_metrics_listen_where_http_does_unless_told(tmp_path: Path) -> None:
    assert settings(tmp_path, "--http-address=127.0.0.1").metrics.address == "127.0.0.1"
    found = settings(tmp_path, "--http-address=127.0.0.1", "--metrics-address=::1")
    assert found.metrics.address == "::1"


def test_a_listener_may_be_a_socket_that_the_parent_has_bound(tmp_path: Path) -> None:
    found = settings(tmp_path, "--http-fd=5", "--metrics-fd", "6")
    listeners = (found.http, found.grpc, found.metrics)
    assert [listener.descriptor for listener in listeners] == [5, None, 6]
    with pytest.raises(UsageError, match="http-fd"):
        settings(tmp_path, "--http-fd=-1")
    with (tmp_path / "file").open("w") as file, pytest.raises(OSError, match="socket"):
        inherited(os.dup(file.fileno()))


def test_ports_and_who_shares_them(tmp_path: Path) -> None:
    found = settings(tmp_path, "--http-port", "0", "--grpc-port=0", "--reuse-grpc-port=true")
    assert (found.http.port, found.grpc.port) == (0, 0)
    assert (found.http.reuse_port, found.grpc.reuse_port) == (False, True)
    found = settings(tmp_path, "--http-port=8001", "--allow-grpc=false")
    assert not found.grpc.enabled


def test_flags_may_be_shortened_while_they_stay_unique(tmp_path: Path) -> None:
    assert settings(tmp_path, "--exit-t", "3").exit_timeout_s == 3


def test_flags_without_effect_are_accepted_with_a_warning(tmp_path: Path) -> None:
    found = settings(tmp_path, "--http-thread-count=8", "--grpc-infer-allocation-pool-size", "4")
    assert found.warnings == (
        "--http-thread-count has no effect here: one event loop serves all here",
        "--grpc-infer-allocation-pool-size has no effect here: nothing is pooled here",
    )
    (warning,) = settings(tmp_path, "--metrics-config=sumary_latencies=true").warnings
    assert "unknown setting 'sumary_latencies'" in warning


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        (
            "--strict-model-config=false",
            "Warning: '--strict-model-config' has been deprecated! "
            "Please use '--disable-auto-complete-config' instead.",
        ),
        ("--response-cache-byte-size=7", "'--cache-config=local,size=7'"),
        ("--trace-file=f", "Please use '--trace-config triton,file=<filepath> instead."),
        ("--trace-rate=1", "Warning: '--trace-rate' has been deprecated and will be removed"),
    ],
)
def test_deprecated_flags_say_what_to_use(tmp_path: Path, flag: str, text: str) -> None:
    (line,) = settings(tmp_path, flag).deprecations
    assert text in line


REFUSALS = [
    ("--htp-port=1", "unrecognized option '--htp-port=1'; did you mean --http-port?"),
    ("--zzzzz", "unrecognized option '--zzzzz'"),
    ("--log-", "option '--log-' is ambiguous; possibilities: '--log-verbose'"),
    ("-x", "invalid option -- 'x'"),
    ("surplus", "Unexpected argument: surplus"),
    ("-- surplus", "Unexpected argument: surplus"),
    ("--http-port", "option '--http-port' requires an argument"),
    ("--disable-auto-complete-config=1", "doesn't allow an argument"),
    ("--http-port=many", 'Bad option: "--http-port".\nInvalid option value. Got many'),
    ("--http-port=12ab", "Invalid option value. Got 12ab"),
    ("--http-port=70000", "Provided option value is out of bound. Got 70000"),
    ("--grpc-keepalive-time=99999999999", "out of bound. Got 99999999999\nExpected an integer"),
    ("--min-supported-compute-capability=x", "Invalid option value. Got x\nExpected a number"),
    (
        "--exit-on-error=maybe",
        'Bad option: "--exit-on-error".\ninvalid value for bool option: maybe',
    ),
    ("--exit-on-error=yes", "invalid value for bool option: yes"),
    ("--exit-on-error --log-info=true", "invalid value for bool option: --log-info=true"),
    (
        "--load-model=a",
        "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.",
    ),
    ("--model-control-mode=foo", "invalid argument for --model-control-mode"),
    ("--model-control-mode=explicit --load-model=* --load-model=a", "must be the ONLY"),
    ("--log-format=iso8601", 'Bad option: "--log-format".\ninvalid argument for --log-format'),
    ("--rate-limit=x", "invalid argument for --rate-limit"),
    (
        "--grpc-infer-response-compression-level=x",
        "invalid argument for --grpc_infer_response_compression_level",
    ),
    ("--rate-limit-resource=a", "--rate-limit-resource option format is '<resource_name>:<count>"),
    ("--rate-limit-resource=a:1:2:3", "Got a:1:2:3"),
    ("--rate-limit-resource=a:b", "Invalid option value. Got b"),
    (
        "--backend-config=nonsense",
        "--backend-config option format is '<backend name>,<setting>=<value>'. Got nonsense",
    ),
    ("--backend-config=,a=b", "No backend specified. --backend-config option format is"),
    ("--backend-config=default-max-batch-size=x", "Invalid option value. Got x"),
    (
        "--cache-config=foo",
        "No cache specified. --cache-config option format is "
        "<cache name>,<setting>=<value>. Got foo",
    ),
    ("--cache-config=local,size", "'<cache name>,<setting>=<value>'. Got local,size"),
    (
        "--response-cache-byte-size=1 --cache-config=local,size=1",
        "Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. "
        "Please provide one or the other.",
    ),
    ("--host-policy=x", "--host-policy option format is '<policy name>,<setting>=<value>'. Got x"),
    ("--model-load-gpu-limit=-1:0.4", "expects device ID >= 0, got -1"),
    (
        "--model-load-gpu-limit=0:-0.4",
        "expects limit fraction to be in range [0.0, 1.0], got -0.4",
    ),
    ("--model-load-gpu-limit=0:nan", "expects limit fraction to be in range [0.0, 1.0], got nan"),
    ("--model-load-gpu-limit=0:1.1", "expects limit fraction to be in range [0.0, 1.0], got 1.1"),
    ("--model-load-gpu-limit=1", "requires format <first>:<second>. Found: 1"),
    ("--cuda-memory-pool-byte-size=x", "requires format <first>:<second>. Found: x"),
    ("--metrics-config=a", "--metrics-config option format is <setting>=<value>. Got a"),
    (
        "--metrics-config=summary_quantiles=0.5",
        "Invalid option: [0.5]. No ':' delimiter found. Expected format is <quantile>:<error>",
    ),
    ("--http-restricted-api=foo:k=v", "unknown restricted api 'foo'"),
    (
        "--http-restricted-api=health",
        "--http-restricted-api option format is '<config name>:<setting>=<value>'. Got health",
    ),
    ("--http-restricted-api=health:k", "Got health:k"),
    ("--grpc-restricted-protocol=foo:k=v", "unknown restricted protocol 'foo'"),
    (
        "--grpc-restricted-protocol=health:a=b --grpc-restricted-protocol=metadata,health:c=d",
        "restricted protocol 'health' can not be specified in multiple config groups",
    ),
    ("--trace-config=x", "option format is '<trace mode>,<setting>=<value>'. Got x"),
    ("--trace-config=,a=b", "No trace mode specified."),
    (
        "--trace-config=foo,a=b",
        "invalid value for trace mode option: foo. "
        'Available options are "triton" and "opentelemetry"',
    ),
    (
        "--trace-config level=BAD",
        'Bad option: "--trace-config level".\ninvalid value for trace level option: bad',
    ),
    ("--trace-config rate=x", 'Bad option: "--trace-config rate".\nInvalid option value. Got x'),
    ("--trace-level=bad", "invalid value for trace level option: bad"),
    (
        "--http-port=8001",
        "The server cannot listen to HTTP requests and GRPC requests at the same address and port "
        "0.0.0.0:8001",
    ),
]


@pytest.mark.parametrize(("line", "message"), REFUSALS, ids=[line for line, _ in REFUSALS])
def test_wrong_command_lines_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, *shlex.split(line))
    assert message in str(caught.value)


def test_the_repository_is_required() -> None:
    with pytest.raises(UsageError, match="--model-repository must be specified"):
        parse([])


def test_help_names_every_flag_in_its_group() -> None:
    with pytest.raises(HelpRequested):
        parse(["--help"])
    text = help_text()
    assert all(f"\n  --{flag.name}" in text for flag in FLAGS)
    assert all(f"\n{group.title}:\n" in text for group in GROUPS if group.title)


# Command lines of Triton's own tests and documents, in both spellings.
TRITON_LINES = [
    "--trace-file=trace_off.log --trace-level=OFF --trace-rate=1",
    "--http-thread-count=1 --trace-file=t.log --trace-level=TIMESTAMPS --trace-level=TENSORS "
    "--trace-rate=9",
    "--trace-config triton,file=t.log --trace-config level=TIMESTAMPS --trace-config rate=6",
    "--trace-config=level=TIMESTAMPS --trace-config=rate=1 --trace-config=count=-1 "
    "--trace-config=mode=opentelemetry --trace-config=opentelemetry,resource=test.key=test.value "
    "--trace-config=opentelemetry,resource=service.name=test_triton "
    "--trace-config=opentelemetry,url=localhost:10000/opentelemetry",
    "--trace-config opentelemetry,bsp_max_export_batch_size=1",
    "--model-control-mode=poll --repository-poll-secs=1 --exit-timeout-secs=5",
    "--model-control-mode=explicit --load-model=a --load-model=b --strict-readiness=false",
    "--exit-on-error=false --exit-timeout-secs=5 --disable-auto-complete-config",
    "--strict-model-config=false --log-verbose=1",
    "--log-verbose=1 --log-file=server.log --log-format=ISO8601 --log-info=1",
    "--backend-config=python,shm-default-byte-size=5242880 "
    "--backend-config=python,shm-region-prefix-name=x --backend-config=default-max-batch-size=0",
    "--backend-config=tensorrt,coalesce-request-input=true --backend-directory=/opt/b",
    "--backend-config=onnxruntime,enable-global-threadpool=1",
    "--rate-limit=execution_count --rate-limit-resource=resource1:10:0 --rate-limit-resource=R2:3",
    "--metrics-config summary_latencies=true --metrics-config counter_latencies=false",
    "--metrics-config summary_quantiles=0.25:0.05,0.5:0.05 --allow-metrics=true",
    "--metrics-interval-ms=500 --allow-gpu-metrics=false --allow-cpu-metrics=false",
    "--cache-config=local,size=2048 --cache-directory=/opt/caches",
    "--cache-config redis,host=redis-host --cache-config redis,port=6379",
    "--response-cache-byte-size=1048576",
    "--pinned-memory-pool-byte-size=67108864 --cuda-memory-pool-byte-size=0:67108864",
    "--cuda-virtual-address-size=0:1048576 --min-supported-compute-capability=6.0",
    "--model-load-gpu-limit=0:0.4 --model-load-thread-count=8 --buffer-manager-thread-count=4",
    "--host-policy=gpu_0,numa-node=0 --host-policy=gpu_0,cpu-cores=0-1",
    "--http-header-forward-pattern=^(x-.*|my_.*)$ --grpc-header-forward-pattern=.*",
    "--http-restricted-api=model-repository,health:infer-key=infer-value",
    "--grpc-restricted-protocol=model-repository,health:admin-key=v "
    "--grpc-restricted-protocol=inference,health:infer-key=w",
    "--grpc-keepalive-time=1000 --grpc-keepalive-timeout=500 "
    "--grpc-http2-max-ping-strikes=2 --grpc-max-connection-age=5000",
    "--grpc-use-ssl=1 --grpc-server-cert=server.crt --grpc-server-key=server.key",
    "--grpc-infer-thread-count=8 --grpc-infer-allocation-pool-size=100 "
    "--grpc-max-response-pool-size=1",
    "--reuse-grpc-port=true --reuse-http-port=1 --http-address=127.0.0.1",
    "--allow-http=true --allow-grpc=false --http-port=8003 --metrics-port=8013",
    "--allow-sagemaker=true --sagemaker-port=8080 --sagemaker-safe-port-range=8000-9000 "
    "--sagemaker-thread-count=4",
    "--allow-vertex-ai=true --vertex-ai-port=8081 --vertex-ai-thread-count=4 "
    "--vertex-ai-default-model=addsub",
    "--repoagent-directory=/opt/repoagents --model-namespacing=true --enable-peer-access=false",
    "--allow-client-shm=true --http-max-input-size=134217728 --id=server_0",
]


@pytest.mark.parametrize("line", TRITON_LINES)
def test_what_triton_takes_is_taken(tmp_path: Path, line: str) -> None:
    overlap = "health" in line and "infer-key=w" in line
    if overlap:
        with pytest.raises(UsageError, match="can not be specified in multiple config groups"):
            settings(tmp_path, *shlex.split(line))
    else:
        assert settings(tmp_path, *shlex.split(line)).repositories == (tmp_path,)


def test_every_flag_of_triton_is_in_one_of_the_lines() -> None:
    lines = " ".join([*TRITON_LINES, *(line for line, _ in LINES)])
    elsewhere = {"help", "metrics-address", "model-store", "model-repository"}
    elsewhere |= {"grpc-address", "grpc-port"}
    missing = {flag.name for flag in FLAGS if not flag.ours and f"--{flag.name}" not in lines}
    assert missing <= elsewhere


def test_the_documented_flags_are_these() -> None:
    page = Path(__file__).parents[3] / "docs" / "flags.md"
    assert page.read_text().endswith(flags_table()), "write flags_table() to docs/flags.md"


def test_the_few_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_SERVER_ESCAPE_LOG_MESSAGES", "false")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "7")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    given = (
        "--trace-config=mode=opentelemetry",
        "--trace-config=opentelemetry,bsp_schedule_delay=9",
    )
    found = settings(tmp_path, *given)
    assert not found.log.escaped
    assert found.trace.options == (("bsp_schedule_delay", "9"), ("bsp_max_queue_size", "8"))
    with pytest.raises(UsageError, match="Invalid option value"):
        settings(tmp_path, given[0], "--trace-config=opentelemetry,bsp_schedule_delay=x")


def test_the_longest_wait_in_a_queue_is_no_cap_unless_said(tmp_path: Path) -> None:
    assert settings(tmp_path).max_queue_wait_ms == 0
    assert settings(tmp_path, "--max-queue-wait-ms=250").max_queue_wait_ms == 250
    for wrong in ("-1", "soon"):
        with pytest.raises(UsageError, match="max-queue-wait-ms"):
            settings(tmp_path, f"--max-queue-wait-ms={wrong}")


def test_sagemaker_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(tmp_path, "--allow-sagemaker=true", "--http-address=127.0.0.1")
    assert found.sagemaker == Listener("127.0.0.1", 8080)
    assert not found.vertex.enabled
    assert (found.sagemaker_options.ping, found.sagemaker_options.inference) == ("ready", "infer")
    monkeypatch.setenv("SAGEMAKER_BIND_TO_PORT", "8090")
    monkeypatch.setenv("SAGEMAKER_MULTI_MODEL", "true")
    monkeypatch.setenv("SAGEMAKER_TRITON_DEFAULT_MODEL_NAME", "m")
    monkeypatch.setenv("SAGEMAKER_TRITON_INFERENCE_TYPE", "generate_stream")
    found = settings(tmp_path, "--allow-sagemaker=true")
    assert found.sagemaker.port == 8090
    assert found.sagemaker_options == SageMakerOptions("live", "m", "generate_stream")
    assert settings(tmp_path, "--sagemaker-port=1").sagemaker.port == 1
    monkeypatch.setenv("SAGEMAKER_SAFE_PORT_RANGE", "8000-8002")
    settings(tmp_path, "--allow-sagemaker=true")
    monkeypatch.setenv("SAGEMAKER_TRITON_PING_MODE", "dead")
    with pytest.raises(UsageError, match="PING_MODE is 'dead', expected one of live, ready"):
        settings(tmp_path)


def test_vertex_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIP_PREDICT_ROUTE", "/p")
    monkeypatch.setenv("AIP_HEALTH_ROUTE", "/h")
    found = settings(tmp_path, "--vertex-ai-default-model=m")
    assert not found.vertex.enabled
    assert found.vertex_options == VertexOptions("/p", "/h", "m")
    monkeypatch.setenv("AIP_MODE", "PREDICTION")
    monkeypatch.setenv("AIP_HTTP_PORT", "8081")
    monkeypatch.setenv("AIP_STORAGE_URI", str(tmp_path / "theirs"))
    found = parse([])
    assert found.repositories == (tmp_path / "theirs",)
    assert found.vertex == Listener("0.0.0.0", 8081)
    assert not found.http.enabled
    assert not found.grpc.enabled
    found = settings(tmp_path, "--allow-http=true", "--allow-vertex-ai=false")
    assert found.repositories == (tmp_path,)
    assert (found.http.enabled, found.vertex.enabled) == (True, False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "--allow-sagemaker=true --sagemaker-safe-port-range=8001-8010",
            "The server cannot listen to HTTP requests at port 8000, allowed port range is "
            "[8001, 8010]",
        ),
        (
            "--allow-sagemaker=true --sagemaker-port=8000",
            "The server cannot listen to HTTP requests and SageMaker requests at the same address "
            "and port 0.0.0.0:8000",
        ),
        (
            "--allow-sagemaker=true --allow-vertex-ai=true",
            "The server cannot listen to Vertex AI requests and SageMaker requests at the same",
        ),
    ],
)
def test_ports_beside_sagemakers(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, *line.split())
    assert reason in str(caught.value)
