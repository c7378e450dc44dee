"""Flags that Triton took before; each says with a warning what to use instead."""

from worker_runtime.config.flags.flag import Flag, Group, Kind

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
