"""Flags of the HTTP front end."""

from worker_runtime.flags.flag import PORT, Flag, Group, Kind

HTTP = Group(
    "HTTP",
    (
        Flag("allow-http", Kind.BOOLEAN, "serve HTTP", "true"),
        Flag("http-address", Kind.TEXT, "address to listen on", "0.0.0.0"),  # noqa: S104
        Flag("http-port", Kind.INTEGER, "port; 0 picks a free one", "8000", low=0, high=PORT),
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
            "67108864",
            low=1,
            high=2**63 - 1,
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
