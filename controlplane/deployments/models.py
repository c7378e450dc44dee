"""Desired and observed: endpoints, deployments, replicas."""

from typing import ClassVar, Final

from django.db import models

from controlplane.accounts.models import OfProject, Scoped
from controlplane.autoscaling import Idle
from controlplane.core.models import Stamped
from controlplane.deployments.idling import idle_rule, is_paused
from controlplane.deployments.spec import RunSettings, settings_from_json
from controlplane.deployments.traffic_change import TrafficChange as TrafficChange  # noqa: PLC0414
from controlplane.deployments.types import (
    RUN_ACTIVE,
    AuthMode,
    DeploymentState,
    Desired,
    EndpointState,
    GpuPolicy,
    ReplicaState,
    RunState,
)

# what control planes of before write, who do not know the column
NO_ITEMS: Final = models.Value([], models.JSONField())


class Endpoint(Stamped, OfProject):
    """A stable, authenticated URL. Traffic is a map from deployment name to percent."""

    name = models.CharField(max_length=32, unique=True)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=dict)
    auth_mode = models.CharField(max_length=16, choices=AuthMode, default=AuthMode.KEY)
    traffic = models.JSONField(default=dict)
    mirror_traffic = models.JSONField(default=dict)
    # Before the shares, in order: which header sends a request where; see serializers.routing.
    traffic_rules = models.JSONField(default=list, blank=True, db_default=NO_ITEMS)
    # What clients are told apart by, so that each of them stays with one deployment; null: nothing.
    sticky = models.JSONField(null=True, blank=True)
    # Whose which hundredth of the clients is, [name, how many] in order; see ``slots``.
    sticky_slots = models.JSONField(default=list, blank=True, db_default=NO_ITEMS)
    token_epoch = models.PositiveIntegerField(default=0)  # raised: older tokens are worthless
    # What gateways hold callers to; see serializers.limits for the shapes.
    cors_origins = models.JSONField(default=list, blank=True)
    max_request_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    rate_limit = models.JSONField(null=True, blank=True)
    # What a client declared that we keep and give back, but do not act on (Azure's identity, ...).
    declared = models.JSONField(default=dict, blank=True)
    provisioning_state = models.CharField(
        max_length=16, choices=EndpointState, default=EndpointState.SUCCEEDED
    )
    # Raised by every change that matters for routing; starts at the creation time in milliseconds,
    # so that a later endpoint of the same name never reuses a number.
    generation = models.BigIntegerField(default=1)
    # what every gateway has applied that is heard of; ``unconfirmed`` has the others
    confirmed_generation = models.BigIntegerField(default=0)
    # silent gateways that have not confirmed ``generation``: {"gateway": …, "silent_since": …}
    unconfirmed = models.JSONField(default=list, blank=True)
    # what gateways do not route of it, and why: operations.services.LeftOutPart
    left_out = models.JSONField(default=list, blank=True)
    created_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.name


class EndpointKey(Stamped, Scoped):
    project_paths: ClassVar[tuple[str, ...]] = ("endpoint__project",)

    class Slot(models.TextChoices):
        PRIMARY = "primary"
        SECONDARY = "secondary"

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="keys")
    slot = models.CharField(max_length=16, choices=Slot)
    sha256 = models.CharField(max_length=64)  # what the gateway compares
    sealed = models.TextField()  # encrypted with the installation's key, for the audited reveal
    prefix = models.CharField(max_length=8)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "slot"], name="one_key_per_slot")
        ]

    def __str__(self) -> str:
        return f"{self.endpoint.name} {self.slot}"


class InstanceType(Stamped):
    """What one replica needs of a node, under a name; the aliases are other systems' names."""

    name = models.CharField(max_length=64, unique=True)  # lower case
    aliases = models.JSONField(default=list, blank=True)  # as they were written; case is ignored
    description = models.TextField(blank=True)
    gpu_count = models.PositiveIntegerField(default=0)
    gpu_policy = models.CharField(max_length=16, choices=GpuPolicy, default=GpuPolicy.REQUIRED)
    gpu_model = models.CharField(max_length=64, blank=True)  # a part of the name, any case
    gpu_memory_bytes = models.BigIntegerField(default=0)  # that each GPU has at least
    cpu_count = models.PositiveIntegerField(default=0)  # that the node has at least
    memory_bytes = models.BigIntegerField(default=0)
    node_labels = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return self.name


class Deployment(Stamped, Scoped):
    project_paths: ClassVar[tuple[str, ...]] = ("endpoint__project",)

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deployments")
    name = models.CharField(max_length=32)
    # What is asked for now. A deployment and its first revision name each other: the database asks
    # only at the commit whether both are there (services.revisions.deployment_record).
    revision = models.ForeignKey(
        "DeploymentRevision", on_delete=models.RESTRICT, related_name="current_of"
    )
    description = models.TextField(blank=True)
    tags = models.JSONField(default=dict, blank=True)
    declared = models.JSONField(default=dict, blank=True)  # as on Endpoint
    instance_count = models.PositiveIntegerField(default=1)
    request_timeout_ms = models.PositiveIntegerField(default=60_000)
    # at a time, without what waits; null: the runtime queues and batches what comes
    max_concurrent_requests_per_instance = models.PositiveIntegerField(null=True, blank=True)
    retries = models.BooleanField(default=True)  # stateless: a lost request may be sent again
    provisioning_state = models.CharField(
        max_length=16, choices=DeploymentState, default=DeploymentState.CREATING
    )
    generation = models.BigIntegerField(default=1)
    error = models.JSONField(null=True, blank=True)
    # replicas before a pause; null without replicas: its policy took them, and brings them back
    paused_count = models.PositiveIntegerField(null=True, blank=True)
    # autoscaling.Policy, as policy_to_json writes it; null: people decide on instance_count
    autoscale = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "name"], name="one_deployment_per_name")
        ]

    def __str__(self) -> str:
        return f"{self.endpoint.name}/{self.name}"

    @property
    def paused(self) -> bool:
        return is_paused(self.instance_count, self.paused_count, self.autoscale)

    @property
    def idle_rule(self) -> Idle | None:
        return idle_rule(self.autoscale, self.paused_count)


class Autoscaler(Stamped, Scoped):
    """What the autoscaler remembers of a deployment, and what it decided last.

    A row of its own: it is written every few seconds, and the deployment is not changed by that.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    deployment = models.OneToOneField(
        Deployment, on_delete=models.CASCADE, related_name="autoscaler", primary_key=True
    )
    number = models.BigIntegerField(default=0)  # compare-and-set of every look
    memory = models.JSONField(default=dict)  # autoscaling.State, as state_to_json writes it
    decision = models.JSONField(default=dict)  # operations.services.autoscaling.Verdict
    decided_at = models.DateTimeField(null=True, blank=True)
    # when a gateway last said that requests wait for a replica
    held_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"autoscaler of {self.deployment}"


class DeploymentRevision(Stamped, Scoped):
    """What a deployment was asked to run once; it never changes and can be gone back to.

    Only the approval of its code does, when the same is started afresh.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    model_version = models.ForeignKey(
        "registry.ModelVersion", on_delete=models.PROTECT, related_name="deployment_revisions"
    )
    config_revision = models.ForeignKey(
        "registry.ConfigRevision",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="deployment_revisions",
    )
    spec = models.JSONField(default=dict)  # RunSettings, as spec.settings_to_json writes them
    secrets = models.JSONField(default=dict)  # variable -> sealed value
    # kinds of code that its replicas may run, as approved when it was asked for; null: not said
    allow_code = models.JSONField(null=True, blank=True)
    # Earlier revisions forget a type that is deleted; services.instance_types deletes none that a
    # current one asks for.
    instance_type = models.ForeignKey(
        InstanceType,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="deployment_revisions",
    )
    author = models.CharField(max_length=150)
    cause = models.CharField(max_length=64)
    succeeded = models.BooleanField(default=False)  # it has come up once

    current: bool  # filled in by selectors

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["deployment", "number"], name="one_row_per_deployment_revision"
            )
        ]

    def __str__(self) -> str:
        return f"{self.deployment} r{self.number}"

    @property
    def settings(self) -> RunSettings:
        return settings_from_json(self.spec)


class Replica(Stamped, Scoped):
    """One runtime process on one node: what we want of it, and what its node last said."""

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    id = models.CharField(max_length=32, primary_key=True)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="replicas")
    # What it runs; while a deployment is being updated, its replicas differ in this.
    revision = models.ForeignKey(DeploymentRevision, on_delete=models.RESTRICT, related_name="+")
    ordinal = models.PositiveIntegerField()
    node = models.ForeignKey("nodes.Node", on_delete=models.PROTECT, related_name="replicas")
    gpus = models.JSONField(null=True, blank=True)  # UUIDs it may use; null: whatever there is
    generation = models.BigIntegerField(default=1)
    desired = models.CharField(max_length=8, choices=Desired, default=Desired.RUNNING)
    state = models.CharField(max_length=16, choices=ReplicaState, default=ReplicaState.PENDING)
    observed = models.JSONField(default=dict)  # wire.messages.ObservedReplica as last reported
    error = models.JSONField(null=True, blank=True)
    state_since = models.DateTimeField(null=True, blank=True)
    last_report_at = models.DateTimeField(null=True, blank=True)
    # While retiring, or resting before a restart: the endpoint's number that gateways must
    # confirm, and since when.
    retire_generation = models.BigIntegerField(null=True, blank=True)
    retire_since = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)  # how often the control plane started it anew
    # The node's desired generation that carries the latest change of this row: once the node has
    # acted on it and does not mention the replica, the replica is not there.
    node_generation = models.BigIntegerField(default=0)

    # Its golden cases come first: gateways reach it by a name of its own alone (``naming``).
    held_out = models.BooleanField(default=False, db_default=False)

    # Where GPU memory runs out: its last restart for that, whose place it takes, and where its
    # ordinal has been before (UUIDs of GPUs, or ids of nodes).
    relieved_at = models.DateTimeField(null=True, blank=True)
    replaces = models.CharField(max_length=32, blank=True)
    avoid = models.JSONField(default=list, blank=True)

    def __str__(self) -> str:
        return f"{self.deployment}#{self.ordinal}"


class GpuFootprint(Stamped):
    """A load ran out of GPU memory: so much, at least, must be free of a GPU of this kind."""

    model_version = models.ForeignKey(
        "registry.ModelVersion", on_delete=models.CASCADE, related_name="+"
    )
    # why no reference: a unique key with NULL in it is none on every database
    config_revision_key = models.BigIntegerField(default=0)  # 0: as uploaded
    kind = models.CharField(max_length=64, blank=True)  # instance type; empty: whatever GPU
    least_bytes = models.BigIntegerField()
    node_name = models.CharField(max_length=100)  # where it was seen last
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["model_version", "config_revision_key", "kind"],
                name="one_gpu_footprint_per_configuration",
            )
        ]

    def __str__(self) -> str:
        return f"{self.model_version} {self.kind}: {self.least_bytes}"


class Run(Stamped, Scoped):
    """What a node does once and reports. How it begins and ends: ``states`` and ``services.runs``.

    It is in the node's desired state until it has ended, so that a lost message costs one poll.
    """

    node = models.ForeignKey("nodes.Node", null=True, on_delete=models.SET_NULL, related_name="+")
    node_name = models.CharField(max_length=100)
    state = models.CharField(max_length=16, choices=RunState, default=RunState.QUEUED)
    error = models.JSONField(null=True, blank=True)
    deadline_at = models.DateTimeField()  # of a tuning: of what it measures now
    finished_at = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150)

    class Meta:
        abstract = True


class TryLoad(Run):
    """One look at whether something loads on a node: a runtime that is started, asked, ended."""

    project_paths: ClassVar[tuple[str, ...]] = ("model_version__model__project", "upload__project")

    id = models.CharField(max_length=32, primary_key=True)
    model_version = models.ForeignKey(
        "registry.ModelVersion", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    upload = models.ForeignKey(
        "registry.Upload", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    config_revision = models.ForeignKey(
        "registry.ConfigRevision",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    configs = models.JSONField(default=dict)  # repo model -> config.pbtxt text that is tried
    allow_code = models.JSONField(null=True, blank=True)  # as on DeploymentRevision
    gpus = models.JSONField(null=True, blank=True)  # as on Replica
    observed = models.JSONField(default=dict)  # wire.messages.ObservedReplica as last reported

    def __str__(self) -> str:
        return f"{self.model_version or self.upload} on {self.node_name}"


def _one_on_a_node(name: str) -> models.UniqueConstraint:
    """Two would measure each other."""
    states = [str(state) for state in RUN_ACTIVE]
    return models.UniqueConstraint(fields=["node"], condition=models.Q(state__in=states), name=name)


class Measurement(Run):
    """A run that asks a model of a deployment for answers, more and more of them."""

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    deployment: models.ForeignKey[Deployment, Deployment]
    revision = models.ForeignKey(DeploymentRevision, on_delete=models.CASCADE, related_name="+")
    plan = models.JSONField()  # wire.load.LoadPlan; the bytes of a case go when it ends
    case = models.CharField(max_length=100, blank=True)  # name of the saved case; empty: random

    class Meta:
        abstract = True


class LoadSweep(Measurement):
    """What a node's agent measured of one replica under more and more load."""

    id = models.CharField(max_length=32, primary_key=True)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="load_sweeps")
    replica = models.CharField(max_length=32)  # its id; it may be gone
    traffic = models.PositiveIntegerField(default=0)  # percent that clients sent it meanwhile
    points = models.JSONField(default=list)  # wire.load.LoadPoint, by rising level
    stopped_by = models.CharField(max_length=256, blank=True)

    class Meta:
        constraints = [_one_on_a_node("one_load_sweep_at_a_time_on_a_node")]

    def __str__(self) -> str:
        return f"{self.deployment} on {self.node_name}"


class Tuning(Measurement):
    """A search for a model's configuration: private replicas, one after the other, under load."""

    id = models.CharField(max_length=16, primary_key=True)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="tunings")
    model = models.CharField(max_length=255)  # as clients call it
    gpus = models.JSONField(null=True, blank=True)  # as on Replica
    space = models.JSONField()  # tuning.space: what is sought among, and what runs today
    budget = models.PositiveIntegerField()  # runs
    step = models.PositiveIntegerField(default=0)  # number of the run under way
    current = models.JSONField(null=True, blank=True)  # that run; see services.tunings
    runs = models.JSONField(default=list)  # those that have ended
    applied = models.PositiveIntegerField(null=True, blank=True)  # a ConfigRevision's number

    class Meta:
        constraints = [_one_on_a_node("one_tuning_at_a_time_on_a_node")]

    def __str__(self) -> str:
        return f"{self.model} of {self.deployment} on {self.node_name}"
