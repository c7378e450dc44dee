"""Operations: what takes a while, with its stages, until it has ended; and rollouts of traffic."""

from typing import ClassVar

from django.db import models

from controlplane.accounts.models import OfProject, Scoped
from controlplane.core.models import Stamped
from controlplane.deployments.models import Endpoint
from controlplane.operations.types import ROLLING, OperationState, RolloutState


class Operation(Stamped, OfProject):
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


class Rollout(Stamped, Scoped):
    """Traffic on its way from what answers now to a candidate, step by step.

    No operation: those end within minutes and keep others from their deployment, while a rollout
    may take days in which its deployments are scaled.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("endpoint__project",)

    id = models.CharField(max_length=32, primary_key=True)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="rollouts")
    candidate = models.CharField(max_length=32)  # name of the deployment
    revision = models.PositiveIntegerField()  # number of what it runs
    state = models.CharField(max_length=16, choices=RolloutState, default=RolloutState.RUNNING)
    plan = models.JSONField()  # rollouts.Plan, as plan_to_json writes it
    previous_traffic = models.JSONField()  # what a withdrawal goes back to
    # [{percent, hold_s, status, started_at, ended_at, requests}], as StageStatus has them
    stages = models.JSONField()
    memory = models.JSONField()  # rollouts.State, as state_to_json writes it
    judgement = models.JSONField(default=dict)  # services.rollout_looks.shown_of
    restarts_before = models.JSONField(default=dict)  # replica -> restarts when it began
    golden = models.JSONField(null=True)  # rollouts.Golden; None: nobody has asked yet
    golden_asked_at = models.DateTimeField(null=True, blank=True)  # whose turn it is to ask
    compared = models.JSONField(null=True)  # rollouts.Compared; None: no input has been asked yet
    compared_at = models.DateTimeField(null=True, blank=True)  # whose turn it is to ask
    samples_until = models.BigIntegerField()  # key of the last gateway sample that was looked at
    number = models.BigIntegerField(default=0)  # compare-and-set of every look and change
    judged_at = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=150, blank=True)
    created_by = models.CharField(max_length=150)
    ended_by = models.CharField(max_length=150, blank=True)
    outcome = models.CharField(max_length=32, blank=True)  # why it ended, a stable word
    reason = models.TextField(blank=True)  # of its end, a sentence with the figures
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint"],
                condition=models.Q(state__in=ROLLING),
                name="one_rollout_per_endpoint",
            )
        ]
        indexes = [models.Index(fields=["endpoint", "-created_at"], name="rollout_latest")]

    def __str__(self) -> str:
        return f"rollout of {self.endpoint_id}/{self.candidate} {self.state}"
