"""What becomes of a tuning: its configuration as a revision, which people then roll out."""

from controlplane.core import events
from controlplane.deployments.errors import NothingToApply
from controlplane.deployments.models import Tuning
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.tunings import (
    choice_of,
    measured_of,
    setting_now,
    tuning_get,
)
from controlplane.deployments.services.load_settings import text_with
from controlplane.deployments.types import RUN_ACTIVE
from controlplane.registry.services.configs import revision_create
from controlplane.tuning.space import Setting


def tuning_apply(*, tuning_id: str, setting: Setting | None, actor: str) -> Tuning:
    """Save the chosen configuration, or ``setting`` of those measured, as a revision.

    Nothing that serves changes by that: a deployment takes it with its next update. Raises
    TuningNotFound, NothingToApply, ConfigInvalid, RevisionNotFound, InspectorUnavailable.
    """
    row = tuning_get(tuning_id)
    wanted = _wanted(row, setting)
    base = row.revision.config_revision
    revision = revision_create(
        name=row.revision.model_version.model.name,
        version=str(row.revision.model_version.version),
        configs={row.model: text_with(row.revision, row.model, wanted, now=setting_now(row))},
        message=f"Tuned: {wanted}",
        base=base.number if base else 0,
        actor=actor,
    )
    Tuning.objects.filter(pk=row.pk).update(applied=revision.number)
    events.record(
        actor=actor,
        verb="tuning.applied",
        subject=f"endpoint/{row.deployment.endpoint.name}",
        message=f"{actor} saved what {row} found as configuration revision {revision.number}: "
        f"{wanted}",
        data={
            "deployment": row.deployment.name,
            "tuning": row.pk,
            "config_revision": revision.number,
        },
    )
    return tuning_get(tuning_id)


def _wanted(row: Tuning, setting: Setting | None) -> Setting:
    """Raises NothingToApply."""
    if row.state in RUN_ACTIVE:
        raise NothingToApply("It is not done: wait for its end, or cancel it.")
    current = deployment_get(row.deployment.endpoint.name, row.deployment.name).revision
    ran = row.revision
    if (current.model_version_id, current.config_revision_id) != (
        ran.model_version_id,
        ran.config_revision_id,
    ):
        raise NothingToApply(
            f"{row.deployment} runs another version or configuration than what was measured, "
            f"revision {ran.number}.",
            hints=("Tune it again.",),
        )
    if setting is None:
        wanted = choice_of(row)
        if wanted is None:
            raise NothingToApply("No configuration that was measured holds the objective.")
    else:
        wanted = setting
        if wanted not in {one.setting for one in measured_of(row) if one.value}:
            raise NothingToApply(f"It was not measured: {wanted}.", field="setting")
    if wanted == setting_now(row):
        raise NothingToApply(f"That is what runs today: {wanted}.")
    return wanted
