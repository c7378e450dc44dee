"""What is kept of the last change of an endpoint's traffic: a part of ``models``."""

from typing import ClassVar

from django.db import models

from controlplane.accounts.models import Scoped
from controlplane.core.models import Stamped


class TrafficChange(Stamped, Scoped):
    """The last one; the log of events has those before.

    A row of its own: confirmations and changes would else write over each other.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("endpoint__project",)

    endpoint = models.OneToOneField(
        "deployments.Endpoint",
        on_delete=models.CASCADE,
        related_name="traffic_change",
        primary_key=True,
    )
    before = models.JSONField()  # this and the next as ``traffic_watch.shares_of`` makes them
    after = models.JSONField()
    actor = models.CharField(max_length=150)
    changed_at = models.DateTimeField()
    generation = models.BigIntegerField()  # the endpoint's number that gateways must confirm
    routed_at = models.DateTimeField(null=True, blank=True)  # when they had
    undone_by = models.CharField(max_length=150, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"traffic of {self.endpoint_id} by {self.actor}"
