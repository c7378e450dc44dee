"""Operations: what takes a while, with its stages, until it has ended."""

from django.db import models

from controlplane.core.models import Stamped
from controlplane.operations.types import OperationState


class Operation(Stamped):
    """A long-running change with stages. It always ends: Succeeded, Failed or Canceled."""

    id = models.CharField(max_length=32, primary_key=True)
    kind = models.CharField(max_length=32)  # operations.types.OperationKind
    endpoint = models.CharField(max_length=64, db_index=True)
    deployment = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=16, choices=OperationState, default=OperationState.QUEUED)
    stages = models.JSONField(default=list)
    # [{name, title, status: pending|running|succeeded|failed|canceled, started_at, ended_at,
    #   detail, progress: 0..1 | null}]
    parameters = models.JSONField(default=dict)
    result = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)  # {code, message, detail, hints}
    revision = models.BigIntegerField(default=0)  # compare-and-set of every step
    deadline_at = models.DateTimeField()
    cancel_requested = models.BooleanField(default=False)
    created_by = models.CharField(max_length=150)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "deployments_operation"  # as it was called before it had an app of its own
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["-created_at"], name="operation_newest"),
            models.Index(fields=["endpoint", "deployment", "-created_at"], name="operation_latest"),
            # why by the time and not by the state: SQLite compares texts of conditions, and a
            # query's values are no part of its text
            models.Index(
                fields=["created_at"],
                condition=models.Q(finished_at__isnull=True),
                name="operation_active",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.endpoint}/{self.deployment} {self.state}"
