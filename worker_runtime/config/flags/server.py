"""Flags of the process, its logs, metrics and traces; deprecated ones say what to use instead."""

from worker_runtime.config.flags.flag import PORT, Flag, Group, Kind

GENERAL = Group("", (Flag("help", Kind.SWITCH, "show this text"),))
SERVER = Group(
    "Server",
    (
        Flag("id", Kind.TEXT, "name in the server metadata", "triton"),
        Flag(
            "frontends",
            Kind.INTEGER,
            "processes that serve clients of HTTP and gRPC, in front of the one that has the "
            "models; 0: that one serves them itself",
            "0",
            low=0,
            high=256,
            ours=True,
        ),
        Flag(
            "exit-timeout-secs",
            Kind.INTEGER,
            "seconds that running requests have to finish at exit",
            "30",
        ),
        Flag(
            "drain-secs",
            Kind.INTEGER,
            "seconds between the signal and the end in which requests are still taken while "
            "readiness says no, so that load balancers can turn away first",
            "0",
            low=0,
            ours=True,
        ),
        Flag(
            "allow-client-shm",
            Kind.BOOLEAN,
            "let clients register system and CUDA shared memory. On by default here, as clients "
            "expect; Triton 26 has it off: set false where clients are not trusted",
            "true",
        ),
        Flag(
            "max-connections",
            Kind.INTEGER,
            "connections that may be open at once over HTTP and gRPC (native) together; 0: any "
            "number. By default nine tenths of the files that the process may open, which it "
            "raises at its start as far as it may",
            low=0,
            ours=True,
        ),
        Flag(
            "max-buffered-bytes",
            Kind.INTEGER,
            "bytes of unanswered requests and unread answers that may be held over HTTP and gRPC "
            "(native) together, requests of up to 4096 bytes left out; further requests get 503 or "
            "RESOURCE_EXHAUSTED; 0: any number. By default half of the memory",
            low=0,
            high=2**63 - 1,
            ours=True,
        ),
        Flag(
            "max-buffered-bytes-per-connection",
            Kind.INTEGER,
            "the same for each connection; by default the largest request and the largest answer",
            "4294967296",
            low=0,
            high=2**63 - 1,
            ours=True,
        ),
        Flag(
            "head-timeout-secs",
            Kind.INTEGER,
            "seconds that a client has for the head of a request, the first one from the beginning "
            "of its connection, and over gRPC for the message of a call that has one; 0: any time",
            "30",
            low=0,
            ours=True,
        ),
        Flag(
            "body-timeout-secs",
            Kind.INTEGER,
            "seconds that a client has for each 16 KiB of a body or a message; 0: any time",
            "30",
            low=0,
            ours=True,
        ),
        Flag(
            "unread-timeout-secs",
            Kind.INTEGER,
            "seconds after which a client that reads nothing of an answer that waits for it is "
            "let go, and a gRPC call ends for whose answer it makes no room; 0: never",
            "300",
            low=0,
            ours=True,
        ),
        Flag(
            "idle-timeout-secs",
            Kind.INTEGER,
            "seconds after which a connection ends on which nothing is asked; 0: never",
            "7200",
            low=0,
            ours=True,
        ),
        Flag(
            "ready-file",
            Kind.TEXT,
            "write pid and ports there as JSON once all sockets listen",
            ours=True,
        ),
    ),
)
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
CAPTURE = Group(
    "Data capture",
    (
        Flag(
            "capture-config",
            Kind.TEXT,
            "write a sample of the requests and answers into --capture-directory; "
            "sampling_rate, model_inputs, model_outputs, fields, drop, hash, max_request_bytes, "
            "roll_seconds",
            shape="<JSON object>",
            ours=True,
        ),
        Flag(
            "capture-directory",
            Kind.TEXT,
            "folder for files of captured requests; whoever takes them removes them",
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
DEPRECATED = Group(
    "DEPRECATED",
    (
        Flag(
            "strict-model-config",
            Kind.BOOLEAN,
            "true equals --disable-auto-complete-config",
            "false",
        ),
        Flag(
            "response-cache-byte-size",
            Kind.INTEGER,
            "use --cache-config=local,size=<bytes>",
            high=2**63 - 1,
        ),
        Flag("trace-file", Kind.TEXT, "use --trace-config triton,file=<path>"),
        Flag("trace-level", Kind.TEXT, "use --trace-config level=<OFF|TIMESTAMPS|TENSORS>"),
        Flag("trace-rate", Kind.INTEGER, "use --trace-config rate=<rate>", "1000"),
        Flag("trace-count", Kind.INTEGER, "use --trace-config count=<count>", "-1"),
        Flag(
            "trace-log-frequency",
            Kind.INTEGER,
            "use --trace-config triton,log-frequency=<frequency>",
            "0",
        ),
    ),
)
