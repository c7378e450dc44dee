"""How what a node does once ends: trials, load sweeps, tunings.

By what its node reports, by a deadline, or because somebody cancels; never twice.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Generic, TypeVar

from django.db import transaction
from django.db.models import Manager
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.core.states import Machine
from controlplane.deployments.errors import RunFinished
from controlplane.deployments.models import Measurement, Run
from controlplane.deployments.selectors.runs import plan_of
from controlplane.deployments.states import RunCause
from controlplane.deployments.types import RUN_ACTIVE, Failure, RunState, failure_data
from controlplane.nodes.services import node_generation_raise
from wire import codec

RunT = TypeVar("RunT", bound=Run)
MeasurementT = TypeVar("MeasurementT", bound=Measurement)
MOST_KEPT: Final = 50  # measurements of a deployment
LOOK_AT_NODE: Final = "Look at the node; what was measured until then is kept."


class Runs(ABC, Generic[RunT]):
    """All of one kind."""

    machine: ClassVar[Machine[RunState, RunCause]]
    kept: ClassVar[timedelta]
    verb: ClassVar[str]  # of their events, before the dot
    id_field: ClassVar[str]  # in the data of their events
    ended: ClassVar[Mapping[RunState, str]]  # what the event says of ``about``

    @abstractmethod
    def get(self, run_id: str) -> RunT:
        """Raises NotFound."""

    @abstractmethod
    def subject(self, row: RunT) -> str:
        """Of its events."""

    def about(self, row: RunT) -> str:
        return str(row)

    def data(self, row: RunT) -> dict[str, Any]:
        """Of its events."""
        return {self.id_field: row.pk, "node": row.node_name}

    def record(
        self, row: RunT, actor: str, what: str, message: str, *, warns: bool = False
    ) -> None:
        events.record(
            actor=actor,
            verb=f"{self.verb}.{what}",
            subject=self.subject(row),
            message=message,
            severity=Event.Severity.WARNING if warns else Event.Severity.INFO,
            data=self.data(row),
        )

    @transaction.atomic
    def end(
        self, row: RunT, cause: RunCause, now: datetime, *, actor: str = "system", **values: Any
    ) -> bool:
        """Whether this call ended it; its node stops what it no longer finds desired."""
        ended: dict[str, Any] = {"finished_at": now, "updated_at": timezone.now(), **values}
        if not self.machine.move(row, cause, **ended):
            return False
        if row.node_id:
            node_generation_raise([row.node_id])
        new = self.machine.target(cause)
        failed = new == RunState.FAILED
        error = values.get("error") or {}
        why = f": {error['message']}" if failed and error else ""
        message = f"{self.about(row)} {self.ended[new]}{why}"
        self.record(row, actor, new.value.lower(), message, warns=failed)
        return True

    def fail(self, row: RunT, now: datetime, error: Any, otherwise: str, **values: Any) -> bool:
        """By what its node says; ``otherwise``: the code, where that is nothing."""
        said = error or failure_data(Failure(otherwise, "It failed."))
        return self.end(row, RunCause.FAIL, now, error=said, **values)

    def expire(self, row: RunT, now: datetime, message: str, hint: str) -> bool:
        failure = Failure("DeadlineExceeded", message, hints=(hint,))
        return self.end(row, RunCause.EXPIRE, now, error=failure_data(failure))

    def cancel(self, run_id: str, *, actor: str, now: datetime) -> RunT:
        """What is known of it until then is kept. Raises NotFound, RunFinished."""
        row = self.get(run_id)
        if row.state not in RUN_ACTIVE or not self.end(row, RunCause.CANCEL, now, actor=actor):
            raise RunFinished(f"It has ended already: {self.get(run_id).state}.")
        return self.get(run_id)


def runs_forget(model: type[Run], before: datetime) -> None:
    model._default_manager.filter(finished_at__lt=before).delete()


class Measurements(Runs[MeasurementT]):
    """Those that ask a model: of a deployment, and without the bytes of a case once they ended."""

    kept = timedelta(days=90)

    def subject(self, row: MeasurementT) -> str:
        return f"endpoint/{row.deployment.endpoint.name}"

    def data(self, row: MeasurementT) -> dict[str, Any]:
        return {"deployment": row.deployment.name, **super().data(row)}

    @transaction.atomic
    def end(
        self,
        row: MeasurementT,
        cause: RunCause,
        now: datetime,
        *,
        actor: str = "system",
        **values: Any,
    ) -> bool:
        plan = plan_of(row)
        inputs = tuple(dataclasses.replace(one, data=None) for one in plan.inputs)
        kept = codec.as_data(dataclasses.replace(plan, inputs=inputs))
        if not super().end(row, cause, now, actor=actor, plan=kept, **values):
            return False
        rows: Manager[Any] = type(row)._default_manager
        newest = rows.filter(deployment=row.deployment).order_by("-created_at", "-id")
        old = newest.exclude(state__in=RUN_ACTIVE).values_list("pk", flat=True)[MOST_KEPT:]
        if found := list(old):
            rows.filter(pk__in=found).delete()
        return True
