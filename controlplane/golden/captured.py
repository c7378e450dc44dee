"""Captured requests of the stable version that a rollout asks both versions again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from controlplane.capture.models import CapturedFile
from controlplane.capture.selectors import deployment_named
from controlplane.capture.services import captured_newest
from controlplane.console.models_served import served
from controlplane.core import events
from controlplane.core.errors import Conflict
from controlplane.deployments.capturing import Capture, capture_from_json
from controlplane.deployments.models import Deployment
from controlplane.deployments.selectors import endpoint_get
from controlplane.golden.inputs import Input
from controlplane.golden.replays import drawn
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollout_get
from controlplane.rollouts import (
    CAPTURED,
    MOST_ASKED,
    Captured,
    Compare,
    captured_met,
    compared_from_json,
    plan_asked,
)

READ_BYTES: Final = 8 << 20  # of files, in one look
ASKED_BYTES: Final = 4 << 20  # of tensors, in one look
_draws = Random()  # noqa: S311 # a sample, no secret


class NothingCaptured(Conflict):
    code = "NothingCaptured"
    tries = ("`capture:` in the file of the stable deployment says what is captured.",)


@dataclass(frozen=True, slots=True)
class Difference:
    """``deployment``: whose captured file it is, as long as that is there (``kept``)."""

    source: str
    model: str
    at: datetime
    text: str
    file: str
    line: int
    kept: bool
    deployment: str


def captured_draw(
    row: Rollout, stable: str, compare: Compare, known: Captured, count: int, *, now: datetime
) -> tuple[tuple[Input, ...], Captured]:
    """``count`` of the stable version's newest captured requests at most, and what is known of them
    then: why there are no more."""
    if CAPTURED not in compare.sources:
        return (), known
    if not known.left:
        return (), captured_met(known, None, f"{MOST_ASKED:,} were asked, which is the most.")
    if known.is_refused:
        why = f"{stable} refuses what it has captured: no more of it is asked."
        return (), captured_met(known, None, why)
    deployment = deployment_named(row.endpoint.name, stable)
    capture = inputs_captured(deployment)
    if capture is None:
        return (), captured_met(known, None, f"{stable} captures no inputs.")
    since = now - timedelta(hours=compare.captured_hours)
    files = list(captured_newest(deployment=deployment, since=since, most_bytes=READ_BYTES))
    wanted = min(count, known.left)
    found = drawn(
        files,
        wanted,
        taken=frozenset(known.taken),
        models=served(row.endpoint.name, stable).models,
        capture=capture,
        most_bytes=ASKED_BYTES,
        rng=_draws,
    )
    hours = f"{compare.captured_hours} h"
    why = ""
    if not files:
        why = f"{stable} has captured nothing in the last {hours}."
    elif len(found.inputs) < wanted:
        why = f"Of what {stable} has captured in the last {hours} nothing more can be asked."
    return found.inputs, captured_met(known, found.unusable, why)


def stable_of(traffic: Mapping[str, int], candidate: str) -> str:
    """The one that had most of the traffic before; empty where there was none."""
    shares = {name: share for name, share in traffic.items() if name != candidate}
    return max(shares, key=lambda name: shares[name], default="")


def inputs_captured(deployment: Deployment) -> Capture | None:
    kept = deployment.revision.settings.capture
    capture = capture_from_json(kept) if kept is not None else None
    return capture if capture is not None and "model_inputs" in capture.collections else None


def captured_tell(row: Rollout, stable: str) -> None:
    """That captured values were asked; once for each rollout."""
    events.record(
        actor=row.created_by,
        verb="capture.asked_again",
        subject=f"endpoint/{row.endpoint.name}",
        message=f"Captured requests of {stable} are asked again, of it and of {row.candidate}, for "
        "a rollout",
        data={"deployment": stable, "candidate": row.candidate, "rollout": row.pk},
    )


def captured_wanted(*, endpoint: str, deployment: str, **plan: Any) -> None:
    """Raises NothingCaptured where nothing else is to be asked, and there is none to come."""
    compare = plan_asked(**plan).compare
    stable = stable_of(endpoint_get(endpoint).traffic, deployment)
    if compare is None or set(compare.sources) != {CAPTURED} or not stable:
        return
    if inputs_captured(deployment_named(endpoint, stable)) is None:
        raise NothingCaptured(
            f"compare.sources: captured alone, and {stable} captures no inputs.",
            field="compare.sources",
        )


def rollout_differences(*, endpoint: str, rollout_id: str) -> list[Difference]:
    """Inputs that the candidate answered otherwise, the newest first. Raises RolloutNotFound."""
    row = rollout_get(endpoint, rollout_id)
    differing = compared_from_json(row.compared).differing
    files = {one.file for one in differing if one.file}
    rows = CapturedFile.objects.filter(pk__in=files, deployment__endpoint_id=row.endpoint_id)
    kept = dict(rows.values_list("pk", "deployment__name"))
    return [
        Difference(
            source=one.source,
            model=one.model,
            at=datetime.fromtimestamp(one.at, tz=row.created_at.tzinfo),
            text=one.text,
            file=one.file,
            line=one.line,
            kept=one.file in kept,
            deployment=kept.get(one.file, ""),
        )
        for one in reversed(differing)
    ]
