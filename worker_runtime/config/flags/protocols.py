"""Flags of HTTP and gRPC, and of the listeners for hosted platforms."""

from worker_runtime.config.flags.flag import INT32, PORT, Flag, Group, Kind
from worker_runtime.types.listening import MAX_INPUT_BYTES

HTTP = Group(
    "HTTP",
    (
        Flag("allow-http", Kind.BOOLEAN, "serve HTTP", "true"),
        Flag("http-address", Kind.TEXT, "address to listen on", "0.0.0.0"),  # noqa: S104
        Flag("http-port", Kind.INTEGER, "port; 0 picks a free one", "8000", low=0, high=PORT),
        Flag(
            "http-fd",
            Kind.INTEGER,
            "descriptor of a TCP socket that the parent has bound; instead of address and port",
            low=0,
            ours=True,
        ),
        Flag(
            "reuse-http-port",
            Kind.BOOLEAN,
            "let several servers listen on the same port, when all have this flag",
            "false",
        ),
        Flag(
            "http-header-forward-pattern",
            Kind.TEXT,
            "regular expression: headers that it matches become request parameters",
        ),
        Flag(
            "http-thread-count", Kind.INTEGER, "one event loop serves all here", "8", effect=False
        ),
        Flag(
            "http-max-input-size",
            Kind.INTEGER,
            "greatest size of a request body in bytes",
            str(MAX_INPUT_BYTES),
            low=1,
            high=2**63 - 1,
        ),
        Flag(
            "http-max-body-size",
            Kind.INTEGER,
            "greatest size of a request in bytes, binary tensors included; 0 for no limit",
            "2147483647",
            low=0,
            high=2**63 - 1,
            ours=True,
        ),
        Flag("http-use-ssl", Kind.BOOLEAN, "serve HTTP over TLS", "false", ours=True),
        Flag("http-server-cert", Kind.TEXT, "PEM file with the server's certificate", ours=True),
        Flag("http-server-key", Kind.TEXT, "PEM file with the server's key", ours=True),
        Flag(
            "http-root-cert",
            Kind.TEXT,
            "PEM file with the root certificate of clients; they must show one then",
            ours=True,
        ),
        Flag(
            "http-restricted-api",
            Kind.TEXT,
            "serve these APIs only to requests with this header: health, metadata, inference, "
            "shared-memory, model-config, model-repository, statistics, trace, logging; may be "
            "given several times",
            shape="<api>[,<api>...]:<header>=<value>",
        ),
    ),
)
GRPC = Group(
    "GRPC",
    (
        Flag("allow-grpc", Kind.BOOLEAN, "serve gRPC", "true"),
        Flag("grpc-address", Kind.TEXT, "address to listen on", "0.0.0.0"),  # noqa: S104
        Flag("grpc-port", Kind.INTEGER, "port; 0 picks a free one", "8001", low=0, high=PORT),
        Flag(
            "grpc-fd",
            Kind.INTEGER,
            "descriptor of a TCP socket that the parent has bound; instead of address and port",
            low=0,
            ours=True,
        ),
        Flag(
            "reuse-grpc-port",
            Kind.BOOLEAN,
            "let several servers listen on the same port, when all have this flag",
            "false",
        ),
        Flag(
            "grpc-header-forward-pattern",
            Kind.TEXT,
            "regular expression: metadata that it matches become request parameters",
        ),
        Flag(
            "grpc-infer-thread-count",
            Kind.INTEGER,
            "one event loop serves all here",
            "2",
            effect=False,
        ),
        Flag(
            "grpc-infer-allocation-pool-size",
            Kind.INTEGER,
            "nothing is pooled here",
            "8",
            effect=False,
        ),
        Flag(
            "grpc-max-response-pool-size",
            Kind.INTEGER,
            "nothing is pooled here",
            str(INT32),
            effect=False,
        ),
        Flag(
            "grpc-frontend",
            Kind.TEXT,
            "what carries gRPC: native, our own HTTP/2, or grpcio",
            "native",
            ours=True,
        ),
        Flag("grpc-use-ssl", Kind.BOOLEAN, "serve gRPC over TLS", "false"),
        Flag(
            "grpc-use-ssl-mutual",
            Kind.BOOLEAN,
            "TLS, and clients must show a certificate that the root certificate vouches for",
            "false",
        ),
        Flag("grpc-server-cert", Kind.TEXT, "PEM file with the server's certificate"),
        Flag("grpc-server-key", Kind.TEXT, "PEM file with the server's key"),
        Flag("grpc-root-cert", Kind.TEXT, "PEM file with the root certificate of clients"),
        Flag(
            "grpc-infer-response-compression-level",
            Kind.TEXT,
            "compress inference responses: none, low, medium or high",
            "none",
        ),
        Flag(
            "grpc-keepalive-time",
            Kind.INTEGER,
            "milliseconds after which a keepalive ping is sent",
            "7200000",
        ),
        Flag(
            "grpc-keepalive-timeout",
            Kind.INTEGER,
            "milliseconds to wait for the answer to a ping before the connection is closed",
            "20000",
        ),
        Flag(
            "grpc-keepalive-permit-without-calls",
            Kind.BOOLEAN,
            "send pings even when no call is in flight",
            "false",
        ),
        Flag(
            "grpc-http2-max-pings-without-data",
            Kind.INTEGER,
            "pings that may be sent while there is no data to send; 0: any number",
            "2",
        ),
        Flag(
            "grpc-http2-min-recv-ping-interval-without-data",
            Kind.INTEGER,
            "milliseconds that a client must leave between pings without data",
            "300000",
        ),
        Flag(
            "grpc-http2-max-ping-strikes",
            Kind.INTEGER,
            "bad pings before the connection is closed; 0: any number",
            "2",
        ),
        Flag(
            "grpc-max-connection-age",
            Kind.INTEGER,
            "milliseconds that a connection may live (default: no limit)",
        ),
        Flag(
            "grpc-max-connection-age-grace",
            Kind.INTEGER,
            "milliseconds for running calls at the end of a connection's age (default: no limit)",
        ),
        Flag(
            "grpc-max-inflated-size",
            Kind.INTEGER,
            "greatest size in bytes to which a compressed request may unpack",
            str(MAX_INPUT_BYTES),
            low=1,
            ours=True,
        ),
        Flag(
            "grpc-max-concurrent-streams",
            Kind.INTEGER,
            "calls that a connection may have open at once; further ones are refused in the way "
            "that clients try again after; 0: any number (native only)",
            "1000",
            low=0,
            ours=True,
        ),
        Flag(
            "grpc-max-resets-per-second",
            Kind.INTEGER,
            "calls that a connection may reset within a second of their beginning, or make the "
            "server reset, and one more for each that is answered; four seconds' worth at once, "
            "more end the connection; 0: any number (native only)",
            "1000",
            low=0,
            high=INT32 // 100,
            ours=True,
        ),
        Flag(
            "grpc-max-control-frames-per-second",
            Kind.INTEGER,
            "frames without a request (SETTINGS, which count ten times, PING, WINDOW_UPDATE, "
            "PRIORITY, CONTINUATION, empty DATA) that a connection may send, and ten more for each "
            "answer; ten seconds' worth at once, more end the connection; 0: any number (native "
            "only)",
            "1000",
            low=0,
            high=INT32 // 100,
            ours=True,
        ),
        Flag(
            "grpc-restricted-protocol",
            Kind.TEXT,
            "serve these protocols only to calls whose metadata triton-grpc-protocol-<key> has "
            "this value; names as for --http-restricted-api; may be given several times",
            shape="<protocol>[,<protocol>...]:<key>=<value>",
        ),
    ),
)
SAGEMAKER = Group(
    "Sagemaker",
    (
        Flag(
            "allow-sagemaker",
            Kind.BOOLEAN,
            "serve SageMaker: /ping and /invocations, and with --model-control-mode=explicit "
            "/models; SAGEMAKER_TRITON_PING_MODE, _DEFAULT_MODEL_NAME and _INFERENCE_TYPE set what "
            "they do",
            "false",
        ),
        Flag(
            "sagemaker-port",
            Kind.INTEGER,
            "port; 0 picks a free one; by default what SAGEMAKER_BIND_TO_PORT says",
            "8080",
            low=0,
            high=PORT,
        ),
        Flag(
            "sagemaker-safe-port-range",
            Kind.TEXT,
            "ports that other listeners may have beside SageMaker's; by default what "
            "SAGEMAKER_SAFE_PORT_RANGE says",
            shape="<integer>-<integer>",
        ),
        Flag(
            "sagemaker-thread-count",
            Kind.INTEGER,
            "one event loop serves all here",
            "8",
            effect=False,
        ),
    ),
)
VERTEX = Group(
    "Vertex",
    (
        Flag(
            "allow-vertex-ai",
            Kind.BOOLEAN,
            "serve Vertex AI at AIP_PREDICT_ROUTE and AIP_HEALTH_ROUTE; where AIP_MODE is "
            "PREDICTION that is the default, and HTTP and gRPC are not served unless allowed",
            "false",
        ),
        Flag(
            "vertex-ai-port",
            Kind.INTEGER,
            "port; 0 picks a free one; by default what AIP_HTTP_PORT says",
            "8080",
            low=0,
            high=PORT,
        ),
        Flag(
            "vertex-ai-thread-count",
            Kind.INTEGER,
            "one event loop serves all here",
            "8",
            effect=False,
        ),
        Flag(
            "vertex-ai-default-model",
            Kind.TEXT,
            "the model of requests that name none; not needed while there is one model",
        ),
    ),
)
