"""Why a replica cannot run, ready to be shown: the exceptions that end in a report's `error`."""

from wire.messages import Problem

RUNTIME_NEEDS_BYTES = 1 << 20  # of disk, for the file that names its ports, and some lines of log


class ReplicaFailed(RuntimeError):
    """The agent gives up on a replica at this generation."""

    def __init__(
        self, code: str, message: str, *, detail: str = "", hints: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.problem = Problem(code=code, message=message, detail=detail, hints=hints)


def disk_full(needed: int, free: int, *, where: str, limit: str) -> ReplicaFailed:
    """`needed` and `free` in bytes; `limit` names what is full."""
    return ReplicaFailed(
        "DiskFull",
        f"The node's {limit} has no room for this model: "
        f"{size(needed)} more are needed at {where}, {size(free)} are free.",
        hints=(
            "Free disk space on the node, or delete deployments there.",
            "Deploy to a node with more space.",
        ),
    )


def size(count: int) -> str:
    """Bytes for people: 1.4 GiB."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
