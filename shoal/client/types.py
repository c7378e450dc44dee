"""Shapes of the REST API's JSON. Dictionaries, so that fields of a newer server pass through."""

from typing import Any, Literal, NotRequired, TypedDict


class ErrorBody(TypedDict, total=False):
    code: str
    message: str
    detail: str
    hints: list[str]


class Step(TypedDict):
    """One step of an upload's ingest or one stage of an operation."""

    name: str
    title: str
    status: Literal["pending", "running", "succeeded", "failed", "canceled", "skipped"]
    detail: str
    started_at: str | None
    ended_at: str | None


class Stage(Step, total=False):
    progress: float | None  # 0..1


class Lineage(TypedDict):
    """Where a model comes from, found by its import or stated. What nobody tells is empty."""

    kind: Literal["url", "hub", "s3", "mlflow", "stated"]
    address: str
    revision: str
    commit: str
    etag: str
    repository: str
    run: str
    run_url: NotRequired[str]
    experiment: str
    dataset: str
    by: str
    at: str
    stated: NotRequired[list[str]]  # the fields that somebody stated
    stated_by: NotRequired[str]
    stated_at: NotRequired[str | None]


class Upload(TypedDict):
    id: str
    filename: str
    size: int
    offset: int
    chunk_size: int
    sha256: str
    state: Literal["uploading", "fetching", "verifying", "inspecting", "ready", "failed"]
    steps: list[Step]
    inspection: dict[str, Any] | None
    manifest: list[dict[str, Any]]
    error: ErrorBody | None
    lineage: NotRequired[Lineage | None]
    created_at: str
    expires_at: str


class RepoModel(TypedDict):
    """A Triton model inside a version: what clients name in their calls."""

    name: str
    backend: str
    platform: str
    max_batch_size: int
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    versions: list[int]
    config_text: str
    config_effective: str


class VersionSummary(TypedDict):
    """As lists show a version: its files are counted, not named."""

    model: str
    version: int
    type: str
    digest: str
    size: int
    file_count: int
    source_filename: str
    lineage: NotRequired[Lineage | None]
    description: str
    tags: dict[str, str]
    declared: dict[str, Any]
    warnings: list[str]
    created_by: str
    created_at: str
    archived: bool
    repo_models: list[RepoModel]
    etag: NotRequired[str]
    config_revisions: list[dict[str, Any]]
    config_etag: NotRequired[str]
    code: dict[str, Any]
    used_by: list[str]


class ModelVersion(VersionSummary):
    manifest: list[dict[str, Any]]  # {path, size, sha256}


class EnvironmentVersion(TypedDict):
    name: str
    version: int
    description: str
    tags: dict[str, str]
    requirements: str  # as pip reads them
    conda_file: dict[str, Any] | None
    image: str
    declared: dict[str, Any]
    digest: str
    archived: bool
    created_by: str
    created_at: str
    used_by: list[str]  # endpoint names


class Signatures(TypedDict):
    """Of what would run: the files of a version with the texts of one configuration revision."""

    model: str
    version: int
    config_revision: int  # 0: the files as they were registered
    digest: str
    statement: str
    required: bool
    signed: bool  # by a key that is trusted now
    items: list[dict[str, Any]]  # {key_id, counts, comment, trusted_comment, signature, ...}


class Gateway(TypedDict):
    name: str
    state: Literal["online", "silent"]
    last_seen_at: str | None
    applied_version: str
    error: str
    certificate_ends_at: str | None
    served_source: Literal["installation", "supplied", "self", ""]
    served_ends_at: str | None


class TrustedCertificate(TypedDict):
    subject: str
    sha256: str
    ends_at: str
    supplied: bool
    signs: bool


class Authority(TypedDict):
    certificates: str  # PEM; empty: no gateway has asked for a certificate
    items: list[TrustedCertificate]


class SigningKey(TypedDict):
    key_id: str
    public_key: str
    comment: str
    added_by: str
    created_at: str


class Model(TypedDict):
    name: str
    description: str
    tags: dict[str, str]
    latest_version: int
    archived: bool
    created_at: str
    updated_at: str
    latest: VersionSummary | None
    used_by: list[str]
    etag: NotRequired[str]


class Deployment(TypedDict):
    etag: NotRequired[str]  # which servers of before do not tell
    name: str
    endpoint: str
    model: str
    version: int
    config_revision: int | None
    description: str
    tags: dict[str, str]
    declared: dict[str, Any]
    environment: dict[str, str]
    request_timeout_ms: int
    max_concurrent_requests_per_instance: int | None
    max_queue_wait_ms: int | None
    retries: bool
    instance_count: int
    autoscale: dict[str, Any] | None
    capture: dict[str, Any] | None
    autoscaling: dict[str, Any] | None
    provisioning_state: str
    serving_state: str
    traffic: int
    error: ErrorBody | None
    replicas: list[dict[str, Any]]
    created_at: str
    updated_at: str
    operation: str | None


class UnconfirmedGateway(TypedDict):
    gateway: str
    silent_since: str


class Endpoint(TypedDict):
    etag: NotRequired[str]  # as well
    name: str
    project: NotRequired[str]  # as well
    description: str
    tags: dict[str, str]
    auth_mode: str
    declared: dict[str, Any]
    provisioning_state: str
    serving_state: str
    traffic: dict[str, int]
    mirror_traffic: dict[str, int]
    traffic_rules: NotRequired[list[dict[str, Any]]]  # as well
    traffic_change: NotRequired[dict[str, Any] | None]  # as well
    sticky: NotRequired[dict[str, Any] | None]
    objectives: NotRequired[list[dict[str, Any]]]  # which servers of before do not tell
    scoring_uri: str
    grpc_target: str
    plain_uri: str
    ca_path: str
    models: list[dict[str, Any]]
    created_by: str
    created_at: str
    updated_at: str
    deployments: list[Deployment]
    routed: NotRequired[bool]  # every gateway acts on the newest traffic and keys
    unconfirmed: NotRequired[list[UnconfirmedGateway]]  # those that are silent, and may not


class DeployResult(TypedDict):
    """Where a deployed model answers, and the names that a caller needs."""

    endpoint: str
    deployment: str
    scoring_uri: str
    plain_uri: str
    grpc_target: str
    ca_path: str
    model: str
    version: int
    model_name: str  # what clients call; the first of ``models``
    models: list[str]
    provisioning_state: str
    rollout: NotRequired[str | None]  # the id of the one that it has begun with


class Operation(TypedDict):
    id: str
    kind: str
    endpoint: str
    deployment: str
    state: Literal["Queued", "Running", "Succeeded", "Failed", "Canceled"]
    stages: list[Stage]
    percent: float | None
    error: ErrorBody | None
    result: DeployResult | None
    warnings: NotRequired[list[str]]  # older installations give none
    deadline_at: str
    created_by: str
    created_at: str
    finished_at: str | None


class Node(TypedDict):
    id: str
    name: str
    state: str
    cordoned: bool
    labels: dict[str, str]
    conditions: list[dict[str, str]]
    info: dict[str, Any]
    last_seen_at: str | None
    age_s: float | None
    replicas: list[dict[str, Any]]


class SystemPart(TypedDict):
    kind: str  # web, database, broker, beat, worker, gateway, agent, certificate, disk
    name: str
    state: str  # ok, warning, error, unknown
    summary: str
    hint: str


class LogLine(TypedDict):
    id: int
    at: str
    replica_id: str
    stream: str
    text: str
    level: str  # warn, error, or nothing


class SessionInfo(TypedDict):
    authenticated: bool
    user: dict[str, str] | None
    csrf_token: str
    version: str


class User(TypedDict):
    username: str
    role: str
    active: bool
    sign_in: NotRequired[str]  # how: password, break_glass, oidc, header
    second_factor: NotRequired[bool]  # signing in asks for a code
    created_at: str
    last_login: str | None
    password: NotRequired[str | None]  # told once, when it was made up


class SecondFactor(TypedDict):
    state: Literal["on", "off", "missing", "elsewhere"]
    recovery_codes_left: int


class SecondFactorBegun(TypedDict):
    """Told once."""

    secret: str
    uri: str
    qr_svg: str


class ServiceToken(TypedDict):
    prefix: str
    created_at: str
    expires_at: str
    last_used_at: str | None


class ServiceAccount(TypedDict):
    name: str
    role: str
    created_at: str
    tokens: list[ServiceToken]  # those that still work
    token: NotRequired[str]  # told once, when it was made


class InstanceType(TypedDict):
    name: str
    aliases: list[str]
    description: str
    gpu_count: int
    gpu_policy: str
    gpu_model: str
    gpu_memory_bytes: int
    cpu_count: int
    memory_bytes: int
    node_labels: dict[str, str]
    used_by: int
    nodes: list[str]


class TryLoad(TypedDict):
    """One trial of a version on a node: ``state`` as an operation's, ``phase`` as a replica's."""

    id: str
    state: str
    model: str | None
    version: int | None
    node: str
    phase: str
    load_seconds: float | None
    memory_bytes: int
    effective: dict[str, Any]
    log: str
    error: ErrorBody | None
