"""Whether models have golden cases. They lie in an app above this one (``golden.apps``), which says
so here when it is ready; light, as every process is told."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controlplane.deployments.models import Deployment

_have: "list[Callable[[Deployment], bool]]" = []


def known_by(have: "Callable[[Deployment], bool]") -> None:
    """``have``: whether there is anything to ask what the deployment shall run."""
    _have[:] = [have]


def has_cases(deployment: "Deployment") -> bool:
    return any(have(deployment) for have in _have)
