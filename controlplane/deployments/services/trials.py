"""Trials: does it load there? A runtime that the node starts, asks and ends.

They travel in the node's desired state like replicas, so that a lost message costs one poll, and
end like operations: by what the node reports, by a deadline, or because somebody cancels.
"""

import secrets
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from django.db import transaction
from django.utils import timezone

from controlplane.core.errors import Invalid
from controlplane.deployments import placement
from controlplane.deployments.errors import TooManyTrials, TrialImpossible
from controlplane.deployments.models import InstanceType, TryLoad
from controlplane.deployments.selectors.instance_types import instance_type_wanted
from controlplane.deployments.selectors.trials import trial_get, trials_active
from controlplane.deployments.services.capacity import need_for, offers
from controlplane.deployments.services.runs import Runs, runs_forget
from controlplane.deployments.services.subjects import Subject, subject_of
from controlplane.deployments.states import TRIALS, RunCause
from controlplane.deployments.types import RUN_ACTIVE, ReplicaState, RunState
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_get
from controlplane.nodes.services import node_generation_raise
from controlplane.registry.services.approvals import upload_code_check, version_code_check
from controlplane.registry.services.signatures import (
    upload_signature_check,
    version_signature_check,
)
from wire import codec
from wire.messages import ObservedReplica

MOST_PER_NODE: Final = 4


class Trials(Runs[TryLoad]):
    machine = TRIALS
    kept = timedelta(days=1)
    verb, id_field = "trial", "try_load"
    ended = MappingProxyType(
        {
            RunState.SUCCEEDED: "loads",
            RunState.FAILED: "does not load",
            RunState.CANCELED: "was not tried to the end",
        }
    )

    def get(self, run_id: str) -> TryLoad:
        return trial_get(run_id)

    def subject(self, row: TryLoad) -> str:
        model = row.model_version.model.name if row.model_version else ""
        return f"model/{model}" if model else f"upload/{row.upload_id}"


RUNS: Final = Trials()


def trial_start(
    *,
    model: str = "",
    version: str = "latest",
    upload_id: str = "",
    config_revision: int | None = None,
    configs: dict[str, str] | None = None,
    node: str = "",
    instance_type: str = "",
    timeout_s: int = 300,
    actor: str,
    now: datetime,
    may_run_code: bool = False,
) -> TryLoad:
    """Have it loaded on ``node``, or on the best one. ``configs`` are texts that are not saved yet.

    ``may_run_code``: the actor may have code run that nobody approved yet.
    Raises ModelNotFound, UploadNotFound, ModelNotDeployable, NodeNotFound, InstanceTypeUnknown,
    TrialImpossible (no node can), TooManyTrials, Invalid, CodeNotAllowed, CodeNotApproved,
    SignatureRequired.
    """
    # names first: nothing is parsed for what does not exist
    subject = subject_of(model, version, upload_id, config_revision)
    if strangers := sorted(set(configs or {}) - subject.models):
        raise Invalid(f"It holds no model called {', '.join(strangers)}.", field="configs")
    if node:
        node_get(node)
    kind = instance_type_wanted(instance_type) if instance_type else None
    allowed = _code_check(subject, configs or {}, may_run_code)
    _signature_check(subject, configs or {})
    with transaction.atomic():
        chosen, gpus = _place(subject, kind, node, now)
        row = TryLoad.objects.create(
            id=secrets.token_hex(8),
            model_version=subject.version,
            upload=subject.upload,
            config_revision=subject.revision,
            configs=configs or {},
            allow_code=allowed,
            node=chosen,
            node_name=chosen.name,
            gpus=gpus,
            deadline_at=now + timedelta(seconds=timeout_s),
            created_by=actor,
        )
        RUNS.record(row, actor, "started", f"{actor} tries whether {row} loads")
        node_generation_raise([chosen.pk])
    return trial_get(row.pk)


def _code_check(subject: Subject, texts: dict[str, str], may_run_code: bool) -> list[str]:
    """A trial runs code as a deployment does. Raises CodeNotAllowed, CodeNotApproved."""
    if subject.upload is not None:
        return upload_code_check(subject.upload, texts, may_run_code=may_run_code)
    assert subject.version is not None  # noqa: S101 - it is one or the other
    return version_code_check(subject.version, subject.revision, texts, may_run_code=may_run_code)


def _signature_check(subject: Subject, texts: dict[str, str]) -> None:
    """It runs files as a deployment does, texts that are not saved included. Raises
    SignatureRequired."""
    if subject.upload is not None:
        upload_signature_check(subject.upload, texts)
    elif subject.version is not None:
        version_signature_check(subject.version, subject.revision, texts)


def _place(
    subject: Subject, kind: InstanceType | None, name: str, now: datetime
) -> tuple[Node, list[str] | None]:
    """The node, and the GPUs that the trial may use. Raises TrialImpossible, TooManyTrials."""
    need = need_for(kind, backends=subject.backends, size_bytes=subject.size_bytes)
    available = offers(placement.Subject(None, None, None), now)
    wanted = [offer for offer in available if name in ("", offer.name)]
    verdicts = placement.explain(need, wanted)
    if not verdicts or verdicts[0].reason is not None:
        why = "\n".join(f"{verdict.node}: {verdict.because}" for verdict in verdicts)
        raise TrialImpossible(
            why or "No node has joined yet.",
            field="node" if name else None,
            hints=("Bring a node back, or name another one.",),
        )
    best = node_get(verdicts[0].node)
    # why of everything: a node has as much to do as all projects give it
    if TryLoad.everything.filter(node=best, state__in=RUN_ACTIVE).count() >= MOST_PER_NODE:
        raise TooManyTrials(
            f"{MOST_PER_NODE} trials are under way on {best.name}.",
            hints=("Wait for one, or cancel it.",),
        )
    return best, list(verdicts[0].gpus) if kind is not None else None


def trials_observe(node: Node, replicas: tuple[ObservedReplica, ...], now: datetime) -> None:
    """What a node says of its trials; ``replicas``: what it runs and is not a replica of ours."""
    if not replicas:
        return  # most reports; a query less
    waiting = {row.pk: row for row in trials_active(node)}
    for observed in replicas:
        row = waiting.get(observed.replica_id)
        if row is None:
            continue
        data = codec.as_data(observed)
        if data == row.observed:
            continue
        # why configs: an adopted trial is ready before it has been asked
        if observed.state == ReplicaState.READY and observed.configs:
            RUNS.end(row, RunCause.SUCCEED, now, observed=data)
        elif observed.state == ReplicaState.FAILED:
            RUNS.fail(row, now, data["error"], "ReplicaFailed", observed=data)
        else:
            rows = TryLoad.objects.filter(pk=row.pk)
            TRIALS.write(rows, RunCause.OBSERVE, observed=data, updated_at=timezone.now())


def trials_tick(*, now: datetime) -> None:
    """End those that took too long."""
    for row in trials_active():
        if now < row.deadline_at:
            continue
        phase = row.observed.get("state", "not started by the node yet")
        text = f"It did not load in time; it got as far as: {phase}."
        RUNS.expire(row, now, text, "Give it more time, or look at the node.")


def trials_prune(*, now: datetime) -> None:
    """Forget old ones."""
    runs_forget(TryLoad, now - RUNS.kept)


def trial_cancel(*, trial_id: str, actor: str, now: datetime) -> TryLoad:
    """Raises TrialNotFound, RunFinished."""
    return RUNS.cancel(trial_id, actor=actor, now=now)
