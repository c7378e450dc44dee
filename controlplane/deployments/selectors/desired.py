"""What one node must run, as its agent is told, and which blobs it may therefore fetch."""

import dataclasses
import hmac
import logging
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db.models import Q, QuerySet

from controlplane.core import vault
from controlplane.deployments.capturing import capture_from_json
from controlplane.deployments.models import DeploymentRevision, Replica, TryLoad, Tuning
from controlplane.deployments.probes import allowance_s, rule_of
from controlplane.deployments.selectors.sampling import sampling_s
from controlplane.deployments.selectors.sweeps import desired_loads
from controlplane.deployments.selectors.trials import (
    LOG_OWNER,
    trial_list,
    trial_manifest,
    trial_models,
    trials_active,
)
from controlplane.deployments.selectors.tunings import run_id, tuning_load, tunings_active
from controlplane.deployments.spec import RUN_SETTINGS, SETTINGS, RunSettings
from controlplane.deployments.types import RUN_ACTIVE, Desired
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import cadence_now
from controlplane.registry.code import KINDS
from controlplane.registry.models import ModelFile, UnpackedFile
from controlplane.registry.selectors import manifests_of
from controlplane.registry.signature_state import signatures_kept
from controlplane.registry.types import FileEntry, config_files
from wire.messages import CaptureRule, DesiredReplica, DesiredState, FileRef
from wire.statement import files_digest

logger = logging.getLogger(__name__)

LOAD_TIMEOUT_S = 300.0
SECRETS = "shoal secret environment"
CAPTURE_HASHES = "shoal capture hashes"


def _replicas(node: Node) -> QuerySet[Replica]:
    return Replica.objects.filter(node=node, desired__in=[Desired.RUNNING, Desired.RETIRING])


def desired_replicas(node: Node) -> list[Replica]:
    return list(
        _replicas(node)
        .select_related("deployment__endpoint")
        .select_related("revision__model_version", "revision__config_revision")
        .prefetch_related("revision__model_version__repo_models")
        .order_by("id")
    )


def desired_state(node: Node) -> DesiredState:
    """``node`` must have been read before: its generation then is at most that of the replicas."""
    replicas = desired_replicas(node)
    manifests = manifests_of({replica.revision.model_version_id for replica in replicas})
    pace = cadence_now()
    wanted = [_desired(replica, manifests) for replica in replicas]
    wanted += [_trial(row) for row in trials_active(node)]
    tunings = tunings_active(node)
    wanted += [_tuned(row) for row in tunings if (row.current or {}).get("text") is not None]
    loads = [load for row in tunings if (load := tuning_load(row)) is not None]
    return DesiredState(
        node_id=node.id,
        generation=node.desired_generation,
        replicas=_with_signatures(wanted),
        poll_interval_s=pace.poll_s,
        sample_interval_s=sampling_s(_endpoints(replicas), pace),
        loads=(*desired_loads(node), *loads),
    )


def _with_signatures(replicas: list[DesiredReplica]) -> tuple[DesiredReplica, ...]:
    """Whoever made them: which keys count there is said by the node."""
    digests = [
        files_digest(
            ((file.path, file.size, file.sha256) for file in replica.files), replica.inline_files
        )
        for replica in replicas
    ]
    kept = signatures_kept(digests) if digests else {}
    return tuple(
        dataclasses.replace(replica, signatures=kept.get(digest, ()))
        for replica, digest in zip(replicas, digests, strict=True)
    )


def _endpoints(replicas: Iterable[Replica]) -> set[str]:
    return {replica.deployment.endpoint.name for replica in replicas}


def _desired(replica: Replica, manifests: Mapping[int, list[FileEntry]]) -> DesiredReplica:
    deployment = replica.deployment
    revision = replica.revision
    inline = inline_files(revision)
    run = revision.settings
    readiness = rule_of(run.readiness_probe)
    return DesiredReplica(
        replica_id=replica.id,
        generation=replica.generation,
        endpoint=deployment.endpoint.name,
        deployment=deployment.name,
        files=tuple(
            FileRef(path=entry["path"], size=entry["size"], sha256=entry["sha256"])
            for entry in manifests[revision.model_version_id]
            if entry["path"] not in inline
        ),
        inline_files=inline,
        models=tuple(sorted(model.name for model in revision.model_version.repo_models.all())),
        runtime_args=_runtime_args(run),
        code=_code(revision.allow_code),
        environment={**_visible(replica.gpus), **environment_of(revision)},
        secrets=tuple(sorted(revision.secrets)),
        load_timeout_s=LOAD_TIMEOUT_S + allowance_s(readiness),
        liveness=rule_of(run.liveness_probe),
        readiness=readiness,
        capture=_capture(replica),
    )


def _capture(replica: Replica) -> CaptureRule | None:
    """Digests of a field are made with a key of the deployment: alike are told from different
    across its replicas and their restarts, and nobody can try out values without the key."""
    kept = replica.revision.settings.capture
    if kept is None:
        return None
    capture = capture_from_json(kept)
    name = f"{replica.deployment.endpoint_id}/{replica.deployment_id}"
    key = hmac.digest(vault.derived(CAPTURE_HASHES), name.encode(), "sha256").hex()
    return CaptureRule(capture.for_runtime(), key if capture.hash else "")


def _runtime_args(run: RunSettings) -> tuple[str, ...]:
    # why only those that are set: a node's older runtime may not know the flag
    return tuple(
        argument.format(value)
        for name in RUN_SETTINGS
        if (argument := SETTINGS[name].argument) and (value := getattr(run, name))
    )


def _code(allowed: list[str] | None) -> tuple[str, ...] | None:
    """What code the runtime may run; None of what was started before that was kept."""
    if settings.SHOAL_CODE_POLICY == "on":
        return KINDS
    return None if allowed is None else tuple(allowed)


def _visible(gpus: list[str] | None) -> dict[str, str]:
    """Only the GPUs that were given; with None whatever the node has."""
    return {} if gpus is None else {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}


def environment_of(revision: DeploymentRevision) -> dict[str, str]:
    """Variables in clear: a node must know them. One that cannot be unsealed is left out."""
    found = {str(key): str(value) for key, value in revision.settings.environment.items()}
    for name, sealed in revision.secrets.items():
        try:
            found[name] = vault.unseal(SECRETS, sealed)
        except vault.InvalidToken:
            logger.warning("The secret %s cannot be read: the installation's secret changed", name)
    return found


def _trial(row: TryLoad) -> DesiredReplica:
    revised = dict(row.config_revision.configs) if row.config_revision else {}
    inline = config_files({**revised, **row.configs})
    return DesiredReplica(
        replica_id=row.pk,
        generation=1,
        endpoint=LOG_OWNER,
        deployment=row.pk,
        files=tuple(
            FileRef(path=entry["path"], size=entry["size"], sha256=entry["sha256"])
            for entry in trial_manifest(row)
            if entry["path"] not in inline
        ),
        inline_files=inline,
        models=tuple(trial_models(row)),
        environment=_visible(row.gpus),
        code=_code(row.allow_code),
        load_timeout_s=round((row.deadline_at - row.created_at).total_seconds()),
        trial=True,
    )


def _tuned(row: Tuning) -> DesiredReplica:
    """As the deployment's own, with a text of its own; a trial, which nobody calls."""
    revision, current = row.revision, row.current or {}
    edits = dict(revision.config_revision.configs) if revision.config_revision else {}
    # why not empty: a model without a file has none either
    inline = config_files({**edits, **({row.model: current["text"]} if current["text"] else {})})
    return DesiredReplica(
        replica_id=run_id(row),
        generation=1,
        endpoint=LOG_OWNER,
        deployment=row.pk,
        files=tuple(
            FileRef(path=entry["path"], size=entry["size"], sha256=entry["sha256"])
            for entry in revision.model_version.manifest()
            if entry["path"] not in inline
        ),
        inline_files=inline,
        models=tuple(sorted(revision.model_version.repo_models.values_list("name", flat=True))),
        runtime_args=_runtime_args(revision.settings),
        code=_code(revision.allow_code),
        environment={**_visible(row.gpus), **environment_of(revision)},
        secrets=tuple(sorted(revision.secrets)),
        load_timeout_s=LOAD_TIMEOUT_S,
        trial=True,
    )


def inline_files(revision: DeploymentRevision) -> dict[str, str]:
    """Path -> text of the configurations that replace those of the version's files."""
    edited = revision.config_revision
    return {} if edited is None else config_files(edited.configs)


def node_may_read(node: Node, sha256: str) -> bool:
    """Only blobs that a replica, a trial or a tuning desired on this node uses."""
    running = _replicas(node).values("revision__model_version")
    tried = trial_list().filter(state__in=RUN_ACTIVE, node=node)
    tuned = Tuning.objects.filter(state__in=RUN_ACTIVE, node=node)
    return (
        ModelFile.objects.filter(sha256=sha256)
        .filter(
            Q(version__in=running)
            | Q(version__in=tried.values("model_version"))
            | Q(version__in=tuned.values("revision__model_version"))
        )
        .exists()
        or UnpackedFile.objects.filter(sha256=sha256, upload__in=tried.values("upload")).exists()
    )
