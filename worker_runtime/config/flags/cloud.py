"""Flags of the adapters for hosted platforms, which are not part of this server."""

from worker_runtime.config.flags.flag import PORT, Flag, Group, Kind

SAGEMAKER = Group(
    "Sagemaker",
    (
        Flag("allow-sagemaker", Kind.BOOLEAN, "not served here", "false", effect=False),
        Flag(
            "sagemaker-port",
            Kind.INTEGER,
            "not served here",
            "8080",
            low=0,
            high=PORT,
            effect=False,
        ),
        Flag(
            "sagemaker-safe-port-range",
            Kind.TEXT,
            "not served here",
            shape="<integer>-<integer>",
            effect=False,
        ),
        Flag("sagemaker-thread-count", Kind.INTEGER, "not served here", "8", effect=False),
    ),
)
VERTEX = Group(
    "Vertex",
    (
        Flag("allow-vertex-ai", Kind.BOOLEAN, "not served here", "false", effect=False),
        Flag(
            "vertex-ai-port",
            Kind.INTEGER,
            "not served here",
            "8080",
            low=0,
            high=PORT,
            effect=False,
        ),
        Flag("vertex-ai-thread-count", Kind.INTEGER, "not served here", "8", effect=False),
        Flag("vertex-ai-default-model", Kind.TEXT, "not served here", effect=False),
    ),
)
