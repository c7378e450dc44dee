"""The messages between control plane, node agents and gateway agents.

All are frozen dataclasses that travel as JSON over REST (see ``wire.codec``). Times are Unix
seconds (float, UTC), sizes are bytes, durations carry their unit in the name. A receiver ignores
fields it does not know, so that either side may be one version ahead.
"""

from dataclasses import dataclass, field
from typing import Any

from wire.load import DesiredLoad, LoadPoint
from wire.serving_certificates import ServedCertificate
from wire.waking import HoldLimits

WIRE_VERSION = 1

# Replica states, in the order a healthy replica walks through them. `failed` may follow any.
REPLICA_STATES = (
    "pending",  # known to the agent, nothing started
    "downloading",  # blobs are being fetched and verified
    "starting",  # the runtime process exists, its ports are not known yet
    "loading",  # the runtime listens, its models are not all ready
    "warming",  # ready by its own word; the agent sends a first inference
    "ready",
    "draining",  # desired to stop, still answering
    "stopped",
    "failed",  # the agent gave up at this generation; `error` says why
)


# Of `NodeInfo.sandbox`, what SHOAL_SANDBOX=require asks of a node.
SANDBOX_NEEDED = ("files", "calls", "network")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something failed, in words for people: what happened, where, what to try."""

    code: str  # stable CamelCase, for instance ChecksumMismatch, DiskFull, ModelLoadFailed
    message: str
    detail: str = ""  # verbatim text of the component that failed, log lines included
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileRef:
    """One file of a model repository: where it goes, and the blob that holds its bytes."""

    path: str  # relative to the repository root, POSIX separators: "resnet/1/model.onnx"
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ProbeRule:
    """How often somebody asks how a replica is, and what the answers mean. Azure's defaults."""

    initial_delay_s: float = 10.0
    period_s: float = 10.0
    timeout_s: float = 2.0
    success_threshold: int = 1
    failure_threshold: int = 30


@dataclass(frozen=True, slots=True)
class CaptureRule:
    """What a runtime captures of its requests: ``settings`` are its ``--capture-config``."""

    settings: dict[str, Any]
    hash_key: str = ""  # of fields that are hashed; empty: there are none


@dataclass(frozen=True, slots=True)
class DesiredReplica:
    """One runtime process the node must run at this generation."""

    replica_id: str
    generation: int  # raised on each change of this replica; reports must echo it
    endpoint: str
    deployment: str
    files: tuple[FileRef, ...]  # the whole repository, config revisions already applied as files
    inline_files: dict[str, str] = field(
        default_factory=dict
    )  # path -> text (config.pbtxt revisions)
    models: tuple[str, ...] = ()  # Triton model names that must be ready
    runtime_args: tuple[str, ...] = ()  # extra flags for worker_runtime
    code: tuple[str, ...] | None = None  # kinds of code it may run; None: not said, by an older one
    environment: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()  # variables whose values must not leave the node in logs
    load_timeout_s: float = 300.0
    liveness: ProbeRule | None = None  # None: the agent's own, quicker rule
    readiness: ProbeRule | None = None
    trial: bool = False  # only to see whether it loads: not routed, not sampled, not restarted
    capture: CaptureRule | None = None  # None: nothing is captured
    signatures: tuple[str, ...] = ()  # .minisig files over the statement of files and inline_files


@dataclass(frozen=True, slots=True)
class DesiredState:
    """All that the node should run. A replica that is absent must be drained and stopped."""

    node_id: str
    generation: int
    replicas: tuple[DesiredReplica, ...] = ()
    poll_interval_s: float = 2.0
    sample_interval_s: float = 2.0  # 0.5 while somebody watches
    drain_timeout_s: float = 30.0
    loads: tuple[DesiredLoad, ...] = ()  # one at most; one that is absent must be ended


@dataclass(frozen=True, slots=True)
class ObservedReplica:
    """What the agent sees of one replica."""

    replica_id: str
    generation: int
    state: str  # one of REPLICA_STATES
    address: str = ""  # host the gateway reaches it at
    http_port: int = 0
    grpc_port: int = 0
    metrics_port: int = 0
    pid: int = 0
    restarts: int = 0
    downloaded_bytes: int = 0
    total_bytes: int = 0
    cached_bytes: int = 0  # part of total that was already on the node
    memory_bytes: int = 0
    gpu_memory_bytes: int = 0  # on all its GPUs; 0: none, or the driver does not tell
    started_at: float = 0.0
    load_seconds: float = 0.0
    error: Problem | None = None  # of one that is ready: what should not stay so
    gpu_needed_bytes: int = 0  # of a load without memory: one of its GPUs had to have so much free
    configs: dict[str, Any] = field(default_factory=dict)  # of a ready trial: model -> config
    log: str = ""  # of a ready trial: its last lines
    runtime_version: str = ""  # of the program that runs; empty: an agent of before started it
    installing: str = ""  # while packages of its models are: what the installer said last
    install_seconds: float = 0.0  # that the node took for them; 0: they were there, or none are
    ended: str = ""  # how its last process did ("was killed by SIGKILL"); until the next is ready


@dataclass(frozen=True, slots=True)
class ObservedLoad:
    """How far a load sweep is; told until it is no longer desired."""

    load_id: str
    state: str  # "running", "finished" or "failed"
    points: tuple[LoadPoint, ...] = ()
    stopped_by: str = ""  # of one that finished before its last level: why
    error: Problem | None = None


@dataclass(frozen=True, slots=True)
class GpuInfo:
    index: int
    uuid: str
    name: str
    memory_total_bytes: int
    memory_used_bytes: int = 0
    utilization: float | None = 0.0  # 0..1; None, here and below: the device does not tell
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    driver_version: str = ""
    energy_j: float | None = None  # since the driver was loaded


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """What a node is and has; sent at registration and with every report."""

    name: str
    agent_version: str
    wire_version: int = WIRE_VERSION
    boot_id: str = ""
    folder_id: str = ""  # of its data folder, made with it: two of them are two agents
    address: str = "127.0.0.1"
    cpu_count: int = 0
    cpu_utilization: float = 0.0  # 0..1
    memory_total_bytes: int = 0
    memory_used_bytes: int = 0
    disk_total_bytes: int = 0
    disk_free_bytes: int = 0
    cache_bytes: int = 0
    cache_idle_bytes: int | None = None  # of them, what no replica uses; None: it does not say
    cache_quota_bytes: int = 0  # 0: only the disk limits it
    cache_checked_at: float = 0.0  # when all of it was last hashed again; 0: never yet
    cache_spoiled: int = 0  # files that had changed on disk by then
    download_limit_bytes_per_s: int = 0  # of all downloads together; 0: none
    backends: tuple[str, ...] = ()
    gpus: tuple[GpuInfo, ...] = ()
    sandbox: dict[str, bool] = field(default_factory=dict)  # what it keeps replicas to; {}: none
    labels: dict[str, str] = field(default_factory=dict)
    disk_pressure: bool = False  # so full that the node should take nothing more
    shm_total_bytes: int | None = None  # size of /dev/shm; None: it does not say
    heartbeat_interval_s: float = 5.0  # at which it reports; silence is measured by it


@dataclass(frozen=True, slots=True)
class RegisterRequest:
    token: str  # single-use join token, or SHOAL_NODE_TOKEN
    node: NodeInfo


@dataclass(frozen=True, slots=True)
class RegisterReply:
    node_id: str
    credential: str  # shown once; the agent keeps it with mode 0600
    heartbeat_interval_s: float = 5.0


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    csr: str  # PKCS #10 as PEM; only its key is read: who asks is known otherwise
    name: str = ""  # of a gateway; nodes are known by their credential


@dataclass(frozen=True, slots=True)
class CertificateReply:
    """By which a node or a gateway proves itself from now on, and where."""

    certificate: str  # PEM
    authority: str  # PEM: what signs us and the control plane; one or, while it changes, two
    url: str  # of the control plane's port for agents
    begins_at: float
    ends_at: float


@dataclass(frozen=True, slots=True)
class LeaveRequest:
    """The node's machine goes: what runs there is to answer elsewhere first."""

    deadline_s: int  # then what is left is stopped; the first one that is said holds


@dataclass(frozen=True, slots=True)
class LeaveReply:
    replicas: int  # that are still there; 0: the node is forgotten, and so is its credential


@dataclass(frozen=True, slots=True)
class NodeReport:
    """Heartbeat and observed state in one."""

    node: NodeInfo
    observed_generation: int  # generation of the DesiredState last acted upon
    replicas: tuple[ObservedReplica, ...] = ()
    sent_at: float = 0.0
    loads: tuple[ObservedLoad, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportReply:
    desired_generation: int
    sample_interval_s: float = 2.0
    poll_interval_s: float = 2.0
    heartbeat_interval_s: float = 5.0
    refused: tuple[str, ...] = ()  # what of the report was not believed, and what was expected
    request_salt: int = 0  # see ``wire.samples.rank``


@dataclass(frozen=True, slots=True)
class CachedBlob:
    sha256: str
    size: int
    used_at: float  # when it was last wanted
    in_use: bool = False  # a replica's repository links to it, so that it stays


@dataclass(frozen=True, slots=True)
class SpoiledBlob:
    """A blob whose bytes had changed on the node's disk; it was put aside."""

    sha256: str
    size: int
    found_at: float


@dataclass(frozen=True, slots=True)
class CacheReport:
    """All blobs that lie verified on the node; sent when they have changed."""

    blobs: tuple[CachedBlob, ...]
    spoiled: tuple[SpoiledBlob, ...] = ()  # found since the report before


@dataclass(frozen=True, slots=True)
class GatewaySnapshot:
    """The files one gateway must have. Apply in this order: keys, clusters, (warm), routes; remove
    in reverse."""

    version: str  # digest of the content
    # cluster name -> EDS resource; from control planes whose clusters lack them
    endpoints: dict[str, Any] = field(default_factory=dict)
    clusters: dict[str, Any] = field(default_factory=dict)  # cluster name -> CDS resource
    listeners: dict[str, Any] = field(default_factory=dict)  # listener name -> LDS resource
    routes: dict[str, Any] = field(default_factory=dict)  # route config name -> RDS resource
    # endpoint -> SHA-256 of a key -> its slot, or "-" where nothing is counted by it; None: this
    # control plane has them in routes only
    keys: dict[str, dict[str, str]] | None = None
    # endpoint -> why it is missing here: leave it as it is
    unrendered: dict[str, str] = field(default_factory=dict)
    # cluster name -> how its requests are held while no replica runs; only those that may be so
    holds: dict[str, HoldLimits] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a snapshot that Envoy refused: an endpoint stays as it was, a replica gets
    nothing. Everything else of the snapshot was applied."""

    endpoint: str
    reason: str
    deployment: str = ""  # empty: all of the endpoint
    address: str = ""  # "address:port" of one replica; empty: all of the deployment
    waits: bool = False  # not refused: Envoy has it, and waits for its replicas


@dataclass(frozen=True, slots=True)
class GatewayReport:
    name: str
    applied_version: str
    sent_at: float
    healthy: bool = True
    error: Problem | None = None
    host_health: dict[str, bool] = field(default_factory=dict)  # "address:port" -> Envoy's view
    left_out: tuple[LeftOut, ...] = ()  # of the applied version
    served: ServedCertificate | None = None
