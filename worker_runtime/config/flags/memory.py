"""Flags of memory and devices."""

from worker_runtime.config.flags.flag import Flag, Group, Kind

MEMORY = Group(
    "Memory/Device Management",
    (
        Flag(
            "pinned-memory-pool-byte-size",
            Kind.INTEGER,
            "bytes of pinned host memory; nothing is pinned here",
            "268435456",
            high=2**63 - 1,
            effect=False,
        ),
        Flag(
            "cuda-memory-pool-byte-size",
            Kind.TEXT,
            "bytes of a GPU's memory pool",
            shape="<GPU>:<bytes>",
            effect=False,
        ),
        Flag(
            "cuda-virtual-address-size",
            Kind.TEXT,
            "bytes of address space for growing states on a GPU",
            shape="<GPU>:<bytes>",
            effect=False,
        ),
        Flag(
            "min-supported-compute-capability",
            Kind.NUMBER,
            "the backends decide which GPUs they can use",
            effect=False,
        ),
        Flag(
            "buffer-manager-thread-count",
            Kind.INTEGER,
            "threads for copies: none are needed here",
            "0",
            effect=False,
        ),
        Flag(
            "host-policy",
            Kind.TEXT,
            "cores of a policy's instances: the system places all threads here",
            shape="<policy>,<setting>=<value>",
            effect=False,
        ),
        Flag(
            "model-load-gpu-limit",
            Kind.TEXT,
            "refuse a model after whose load more than this fraction of a GPU's memory is used",
            shape="<device>:<fraction>",
        ),
    ),
)
