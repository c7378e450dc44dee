"""Objectives of endpoints, alerts with their history, silences, and where alerts are told."""

from typing import ClassVar

from django.db import models

from controlplane.accounts.models import Project, Scoped
from controlplane.alerts.types import (
    ACTIVE,
    AlertState,
    ChannelKind,
    DeliveryStatus,
    Severity,
    ThresholdKind,
)
from controlplane.core.models import Stamped
from controlplane.deployments.models import Endpoint
from controlplane.nodes.models import Node
from controlplane.objectives import Kind


class ObjectiveRow(Stamped, Scoped):
    """``objectives.Objective`` of one endpoint, by name."""

    project_paths: ClassVar[tuple[str, ...]] = ("endpoint__project",)

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="objectives")
    name = models.CharField(max_length=32)
    kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in Kind])
    target_percent = models.FloatField()
    window_days = models.PositiveIntegerField()
    threshold_ms = models.FloatField(null=True, blank=True)
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "name"], name="one_objective_per_name")
        ]

    def __str__(self) -> str:
        return f"{self.endpoint_id}/{self.name}"


def _only(kind: str) -> models.Q:
    return models.Q(**{f"{each}__isnull": each != kind for each in ThresholdKind.values})


class AlertRuleRow(Stamped):
    """What somebody has changed of a built-in rule (``rules``); null: as it is built in."""

    name = models.CharField(max_length=64, primary_key=True)
    enabled = models.BooleanField(default=True)
    threshold = models.FloatField(null=True, blank=True)
    for_s = models.PositiveIntegerField(null=True, blank=True)
    severity = models.CharField(max_length=8, choices=Severity, blank=True)
    changed_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.name


class AlertThreshold(Stamped, Scoped):
    """A rule's threshold for all of a project, for one endpoint or for one node: just one of the
    three is set, and the threshold goes with it."""

    project_paths: ClassVar[tuple[str, ...]] = ("project", "endpoint__project")

    rule = models.CharField(max_length=64)
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    node = models.ForeignKey(
        Node, on_delete=models.CASCADE, related_name="+", null=True, blank=True
    )
    threshold = models.FloatField()
    changed_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            # null is like no other null: each holds where its column is set
            *(
                models.UniqueConstraint(fields=["rule", kind], name=f"one_threshold_per_{kind}")
                for kind in ThresholdKind.values
            ),
            models.CheckConstraint(
                condition=_only("project") | _only("endpoint") | _only("node"),
                name="threshold_of_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.about}"

    @property
    def about(self) -> str:
        """``project/vision``, ``endpoint/quote`` or ``node/local``."""
        if self.project_id is not None:
            return f"{ThresholdKind.PROJECT}/{self.project_id}"
        if self.endpoint is not None:
            return f"{ThresholdKind.ENDPOINT}/{self.endpoint.name}"
        return f"{ThresholdKind.NODE}/{self.node.name if self.node else ''}"


class Alert(Stamped, Scoped):
    """One rule that is broken for one thing: from when it was seen first until it is resolved.

    Of an endpoint it belongs to its project; of nodes and the installation to none, which only
    roles in the installation see.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("project",)

    id = models.CharField(max_length=32, primary_key=True)
    rule = models.CharField(max_length=64)
    subject = models.CharField(max_length=255)  # as events have it: "endpoint/digits"
    part = models.CharField(max_length=255, blank=True)  # of the subject: a deployment, a folder
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    severity = models.CharField(max_length=8, choices=Severity)
    state = models.CharField(max_length=16, choices=AlertState, default=AlertState.PENDING)
    value = models.FloatField(null=True, blank=True)
    summary = models.TextField()  # a sentence with the figures, of the latest look
    untold = models.TextField(blank=True)  # why nothing can be told now; it stays as it is then
    # evaluation.Memory
    held_s = models.FloatField(default=0.0)
    clear_s = models.FloatField(default=0.0)
    looked_at = models.DateTimeField()
    started_at = models.DateTimeField()
    fired_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolution = models.TextField(blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    notified_at = models.DateTimeField(null=True, blank=True)  # channels were told; null: not yet
    number = models.BigIntegerField(default=0)  # compare-and-set of every look and change

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "subject", "part"],
                condition=models.Q(state__in=ACTIVE),
                name="one_active_alert_per_thing",
            )
        ]
        indexes = [models.Index(fields=["-started_at", "-id"], name="alert_newest")]

    def __str__(self) -> str:
        return f"{self.rule} {self.subject} {self.part}".rstrip()


class Silence(Stamped, Scoped):
    """What matches is not told to anybody until it ends. Empty fields match everything."""

    project_paths: ClassVar[tuple[str, ...]] = ("project",)

    id = models.CharField(max_length=32, primary_key=True)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )  # null: alerts of all projects, and of the installation
    rule = models.CharField(max_length=64, blank=True)
    subject = models.CharField(max_length=255, blank=True)
    reason = models.CharField(max_length=500)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(db_index=True)
    created_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"silence {self.rule} {self.subject}".rstrip()


class Channel(Stamped):
    """Somewhere that alerts are told. URL and secret are sealed: either lets others write there."""

    name = models.CharField(max_length=64, primary_key=True)
    kind = models.CharField(max_length=16, choices=ChannelKind)
    enabled = models.BooleanField(default=True)
    url = models.TextField(blank=True)  # sealed
    address = models.CharField(max_length=255, blank=True)  # of the URL what may be shown
    secret = models.TextField(blank=True)  # sealed: of the signature
    recipients = models.JSONField(default=list, blank=True)  # of e-mail
    severities = models.JSONField(default=list, blank=True)  # empty: all
    projects = models.JSONField(default=list, blank=True)  # empty: all, and the installation's
    created_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One message to one channel, with all tries at it."""

    id = models.CharField(max_length=32, primary_key=True)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    alert = models.CharField(max_length=32, blank=True, db_index=True)  # its id; empty: a test
    event = models.CharField(max_length=16)  # firing, resolved, test
    message = models.JSONField()  # messages.Message
    status = models.CharField(max_length=16, choices=DeliveryStatus, default=DeliveryStatus.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True)
    log = models.JSONField(default=list)  # [{at, ms, status, error}], the latest tries
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)
    replay_of = models.CharField(max_length=32, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="delivery_newest"),
            models.Index(fields=["status", "next_at"], name="delivery_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.channel_id}"


class RestartMarks(models.Model):
    """How often a replica had been started again, at the moments when that changed."""

    replica = models.CharField(max_length=32, primary_key=True)
    marks = models.JSONField(default=list)  # [[Unix seconds, restarts so far]], oldest first
    at = models.FloatField(db_index=True)  # of the latest

    def __str__(self) -> str:
        return self.replica
