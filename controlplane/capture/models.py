"""Captured data: its files, what they hold by the hour, and what it is compared with."""

import json
import zlib
from typing import Any, ClassVar, Final

from django.db import models

from controlplane.accounts.models import Scoped
from controlplane.core.models import Stamped
from controlplane.deployments.models import Deployment
from controlplane.drift import Sketch, Summary

WINDOW_HOURS: Final = 24


class CapturedFile(Stamped, Scoped):
    """A file of records in the store of blobs. Without a deployment it is about to go, too."""

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    id = models.CharField(max_length=32, primary_key=True)  # of replica and name, see ``services``
    deployment = models.ForeignKey(
        Deployment, null=True, on_delete=models.SET_NULL, related_name="captured_files"
    )
    replica = models.CharField(max_length=64)
    size = models.BigIntegerField()
    records = models.PositiveIntegerField()
    dropped = models.PositiveBigIntegerField(default=0)  # before these, for want of room
    first_at = models.DateTimeField()
    last_at = models.DateTimeField(db_index=True)
    expires_at = models.DateTimeField(db_index=True)
    summarised_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["deployment", "last_at"], name="captured_of_deployment")]

    def __str__(self) -> str:
        return self.id


class Sketches(models.Model):
    """Sketches by feature, packed: the samples in them are most of it."""

    content = models.BinaryField()
    records = models.PositiveBigIntegerField(default=0)

    class Meta:
        abstract = True

    @property
    def summary(self) -> Summary:
        kept: dict[str, Any] = json.loads(zlib.decompress(self.content))
        sketches = {key: Sketch.from_json(one) for key, one in kept["sketches"].items()}
        return Summary(self.records, sketches, kept["untold"])

    @summary.setter
    def summary(self, summary: Summary) -> None:
        kept = {
            "sketches": {key: one.to_json() for key, one in summary.sketches.items()},
            "untold": summary.untold,
        }
        self.content = zlib.compress(json.dumps(kept, separators=(",", ":")).encode())
        self.records = summary.records


class CaptureHour(Sketches, Scoped):
    """What was captured of a deployment in one hour, or in what was left of it when a baseline was
    made of what came before: ``hour`` is when it began."""

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    deployment = models.ForeignKey(
        Deployment, on_delete=models.CASCADE, related_name="capture_hours"
    )
    hour = models.DateTimeField()
    dropped = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["deployment", "hour"], name="one_capture_hour")
        ]

    def __str__(self) -> str:
        return f"{self.deployment_id} {self.hour:%Y-%m-%dT%H}"


class CaptureBaseline(Sketches, Stamped, Scoped):
    """What a deployment's data is compared with, and what the last look at both has found."""

    project_paths: ClassVar[tuple[str, ...]] = ("deployment__endpoint__project",)

    deployment = models.OneToOneField(
        Deployment, on_delete=models.CASCADE, related_name="capture_baseline"
    )
    source = models.CharField(max_length=200)  # in words: a window, or a file
    # of captured data: from when to when; null: of a file
    begins_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    # so many, until now, are held against it
    window_hours = models.PositiveSmallIntegerField(default=WINDOW_HOURS, db_default=WINDOW_HOURS)
    set_by = models.CharField(max_length=150)
    looked_at = models.DateTimeField(null=True, blank=True)
    worst_psi = models.FloatField(null=True, blank=True)  # null: nothing could be compared
    worst_feature = models.CharField(max_length=300, blank=True)
    told = models.CharField(max_length=300, blank=True)  # why nothing could be compared

    def __str__(self) -> str:
        return f"{self.deployment_id}: {self.source}"
