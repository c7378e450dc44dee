"""What the parent tells the launcher: where the program runs, and what it may have."""

import json
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one replica with all its processes where the kernel counts so; 0: none."""

    processes: int = 0
    file_bytes: int = 0
    open_files: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Paths are absolute. A step that is named here and cannot be done ends the launcher."""

    environment: dict[str, str]
    folder: str  # where the program starts
    read: tuple[str, ...] = ()  # files and folders to read and to run from
    listed: tuple[str, ...] = ()  # folders of which only names may be read
    write: tuple[str, ...] = ()  # folders that are its own
    share: tuple[str, ...] = ()  # folders with files of others: shared memory
    devices: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # folders of which it sees only what is named above
    temporary: str = ""  # shown as /tmp; empty: as it is
    landlock: bool = True
    seccomp: bool = True
    namespaces: bool = True
    user: int = 0  # an own one; 0: that of the parent
    groups: tuple[int, ...] = ()
    network: str = "all"  # none, loopback, all
    cgroup: str = ""  # folder to enter
    limits: Limits = field(default_factory=Limits)
    cuda: bool = False  # its driver may start: it names threads in /proc, and has a socket


def dump(plan: Plan) -> bytes:
    return json.dumps(asdict(plan)).encode()


def load(text: bytes) -> Plan:
    """The plan that ``dump`` wrote."""
    data = json.loads(text)
    data["limits"] = Limits(**data["limits"])
    for name, value in data.items():
        if isinstance(value, list):
            data[name] = tuple(value)
    return Plan(**data)
