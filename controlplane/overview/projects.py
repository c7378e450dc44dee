"""Projects as the API shows them: with what they use of their quotas."""

from collections.abc import Iterable
from typing import Any

from controlplane.accounts.models import Project
from controlplane.deployments.selectors.use import projects_use
from controlplane.registry.selectors import projects_bytes


def projects_shown(rows: Iterable[Project]) -> list[dict[str, Any]]:
    found = list(rows)
    names = [row.name for row in found]
    used, held = projects_use(names), projects_bytes(names)
    return [
        {
            "name": row.name,
            "display_name": row.display_name,
            "archived": row.archived,
            "max_replicas": row.max_replicas,
            "max_gpus": row.max_gpus,
            "max_bytes": row.max_bytes,
            "used_replicas": used[row.name].replicas,
            "used_gpus": used[row.name].gpus,
            "used_bytes": held[row.name],
            "created_by": row.created_by,
            "created_at": row.created_at,
        }
        for row in found
    ]
