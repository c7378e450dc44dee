"""Flags of the process as a whole."""

from worker_runtime.flags.flag import Flag, Group, Kind

GENERAL = Group("", (Flag("help", Kind.SWITCH, "show this text"),))
SERVER = Group(
    "Server",
    (
        Flag("id", Kind.TEXT, "name in the server metadata", "triton"),
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
            "ready-file",
            Kind.TEXT,
            "write pid and ports there as JSON once all sockets listen",
            ours=True,
        ),
    ),
)
