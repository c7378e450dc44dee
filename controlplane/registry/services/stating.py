"""Who states where a version comes from, and when."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from controlplane.registry.lineage import LONGEST, stated_beside, stated_read
from controlplane.registry.models import ModelVersion


def stated_now(
    found: Mapping[str, Any], lineage: Mapping[str, str], *, actor: str
) -> dict[str, str]:
    """As ``ModelVersion.stated_lineage`` keeps it. Raises Invalid."""
    told = stated_read(stated_beside(found, lineage))
    return {**told, "by": actor, "at": timezone.now().isoformat()} if told else {}


def stated_anew(
    version: ModelVersion, lineage: Mapping[str, str], *, actor: str
) -> dict[str, dict[str, str]]:
    """The field that changes; none where the same is stated again. Raises Invalid."""
    stated = stated_now(version.lineage, lineage, actor=actor)
    before = version.stated_lineage
    same = all(stated.get(name) == before.get(name) for name in LONGEST)
    return {} if same else {"stated_lineage": stated}
