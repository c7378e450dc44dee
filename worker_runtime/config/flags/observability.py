"""Flags of logs, metrics and traces."""

from worker_runtime.config.flags.flag import PORT, Flag, Group, Kind

LOGGING = Group(
    "Logging",
    (
        Flag("log-verbose", Kind.INTEGER, "0: off; 1 and more: verbose", "0"),
        Flag("log-info", Kind.BOOLEAN, "log information", "true"),
        Flag("log-warning", Kind.BOOLEAN, "log warnings", "true"),
        Flag("log-error", Kind.BOOLEAN, "log errors", "true"),
        Flag(
            "log-format",
            Kind.TEXT,
            "default (LMMDD hh:mm:ss.uuuuuu), ISO8601, or json (ours: an object a line)",
            "default",
        ),
        Flag("log-file", Kind.TEXT, "write the log there instead of the console"),
        Flag(
            "access-log",
            Kind.TEXT,
            "write one JSON line for each inference request there; - for the console",
            ours=True,
        ),
    ),
)
METRICS = Group(
    "Metrics",
    (
        Flag("allow-metrics", Kind.BOOLEAN, "serve Prometheus metrics", "true"),
        Flag("allow-gpu-metrics", Kind.BOOLEAN, "include nv_gpu_* where a GPU is", "true"),
        Flag("allow-cpu-metrics", Kind.BOOLEAN, "include nv_cpu_*", "true"),
        Flag("metrics-address", Kind.TEXT, "address to listen on (default: that of HTTP)"),
        Flag("metrics-port", Kind.INTEGER, "port; 0 picks a free one", "8002", low=0, high=PORT),
        Flag(
            "metrics-fd",
            Kind.INTEGER,
            "descriptor of a TCP socket that the parent has bound; instead of address and port",
            low=0,
            ours=True,
        ),
        Flag(
            "metrics-interval-ms",
            Kind.INTEGER,
            "how old polled values (CPU, GPU) may be, in milliseconds",
            "2000",
        ),
        Flag(
            "metrics-config",
            Kind.TEXT,
            "counter_latencies, histogram_latencies, summary_latencies (true, false) or "
            "summary_quantiles (quantile:error,...); may be given several times",
            shape="<setting>=<value>",
        ),
    ),
)
TRACING = Group(
    "Tracing",
    (
        Flag(
            "trace-config",
            Kind.TEXT,
            "level=OFF|TIMESTAMPS|TENSORS, rate=N, count=N, mode=triton|opentelemetry; "
            "triton,file=PATH; triton,log-frequency=N; opentelemetry,url=URL; "
            "opentelemetry,resource=KEY=VALUE; opentelemetry,bsp_*=N; may be given several times",
            shape="[<mode>,]<setting>=<value>",
        ),
    ),
)
