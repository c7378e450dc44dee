"""The states of uploads and of the steps of their ingest."""

from enum import StrEnum
from typing import Any, Final, cast

from django.db.models import TextChoices

from controlplane.core.states import Machine, Move
from controlplane.registry.types import Step


class UploadState(TextChoices):
    UPLOADING = "uploading"
    FETCHING = "fetching"  # an import: the server gets the bytes itself
    VERIFYING = "verifying"  # checksum, then unpacking
    INSPECTING = "inspecting"
    READY = "ready"
    FAILED = "failed"


class UploadCause(StrEnum):
    COMPLETE = "complete"
    FETCH = "fetch"
    FETCHED = "fetched"
    CLAIM = "claim"
    INSPECT = "inspect"
    ACCEPT = "accept"
    REFUSE = "refuse"
    EXPIRE = "expire"
    DELETE = "delete"


S, U = UploadState, UploadCause
UPLOADS: Final = Machine(
    "upload",
    S,
    starts=(S.UPLOADING, S.FETCHING),
    moves=(
        Move(U.COMPLETE, (S.UPLOADING,), (S.VERIFYING,), "all bytes are here, its owner says so"),
        Move(
            U.FETCH,
            (S.FETCHING,),
            (S.FETCHING,),
            "a worker begins an import, or begins again where another died",
        ),
        Move(U.FETCHED, (S.FETCHING,), (S.VERIFYING,), "all bytes of an import are here"),
        Move(
            U.CLAIM,
            (S.VERIFYING, S.INSPECTING),
            (S.VERIFYING,),
            "a worker begins its ingest, or begins again where another died",
        ),
        Move(U.INSPECT, (S.VERIFYING,), (S.INSPECTING,), "it is unpacked, its models are read"),
        Move(U.ACCEPT, (S.INSPECTING,), (S.READY,), "there is something to register"),
        Move(
            U.REFUSE,
            (S.FETCHING, S.VERIFYING, S.INSPECTING),
            (S.FAILED,),
            "a step failed, took too long, or its workers died three times",
        ),
        Move(U.EXPIRE, (S.UPLOADING, S.READY, S.FAILED), (), "its time is over"),
        Move(U.DELETE, tuple(S), (), "somebody drops it; an ingest under way notices and stops"),
    ),
)


class StepStatus(TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class StepCause(StrEnum):
    BEGIN = "begin"
    SUCCEED = "succeed"
    FAIL = "fail"
    AGAIN = "again"
    DELETE = "delete"


P, T = StepStatus, StepCause
STEPS: Final = Machine(
    "step of an ingest",
    P,
    column="status",
    starts=(P.PENDING,),
    moves=(
        Move(T.BEGIN, (P.PENDING,), (P.RUNNING,), "the step before has succeeded"),
        Move(T.SUCCEED, (P.RUNNING,), (P.SUCCEEDED,), "done, its detail says what"),
        Move(T.FAIL, (P.RUNNING,), (P.FAILED,), "the upload fails with it"),
        Move(
            T.AGAIN,
            (P.RUNNING, P.SUCCEEDED, P.FAILED),
            (P.PENDING,),
            "another worker takes the ingest over and begins at the first step",
        ),
        Move(T.DELETE, tuple(P), (), "its upload is dropped"),
    ),
)


def step_after(step: Step, cause: StepCause, **fields: Any) -> Step:
    """The step as ``cause`` leaves it, with ``fields`` written. Raises IllegalTransition."""
    status = STEPS.check(StepStatus(step["status"]), cause)
    return cast(Step, {**step, **fields, "status": status.value})
