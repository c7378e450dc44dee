"""Secret environment variables: sealed in rows, clear only on their way to a node."""

from collections.abc import Mapping

from controlplane.core import vault
from controlplane.core.errors import Invalid
from controlplane.deployments.naming import variable_problem
from controlplane.deployments.selectors.desired import SECRETS


def secrets_merged(
    old: Mapping[str, str], changes: Mapping[str, str | None] | None
) -> dict[str, str]:
    """Sealed values by name: those of ``old``, changed; None takes one away. Raises Invalid."""
    found = dict(old)
    for name, clear in (changes or {}).items():
        if why := variable_problem(name):
            raise Invalid(why, field="secret_environment")
        if clear is None:
            found.pop(name, None)
        else:
            found[name] = vault.seal(SECRETS, clear)
    return found
