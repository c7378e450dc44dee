"""Flags of the HTTP front end."""

from worker_runtime.config.flags.flag import PORT, Flag, Group, Kind
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
