"""Pure: names of endpoints and deployments that nobody chose. The rule is in ``core.names``."""

import re
from collections.abc import Collection
from typing import Final

from controlplane.core.names import LONGEST, SHORTEST

COLOURS: Final = ("blue", "green")
HELD_OUT: Final = "~candidate"  # no name may have it: nothing else is ever called so


def held_out_name(deployment: str) -> str:
    """By which gateways reach the replicas of ``deployment`` that get none of its requests yet."""
    return f"{deployment}{HELD_OUT}"


def endpoint_name_for(model: str) -> str:
    """A legal endpoint name that reads like the model's."""
    name = re.sub(r"[^a-zA-Z0-9]+", "-", model).strip("-")
    if not name or not name[0].isalpha():
        name = f"model-{name}".strip("-")
    name = name[:LONGEST].rstrip("-")
    return name if len(name) >= SHORTEST else f"{name}-model"


def colour_for(
    existing: Collection[str], idle: Collection[str], broken: Collection[str] = ()
) -> str | None:
    """The colour that a new deployment takes; None when both carry traffic or are busy.

    ``idle`` are the existing deployments that may be replaced, ``broken`` those of them that never
    came up: they go first, so that trying again does not use up the other colour.
    """
    for candidates in (
        broken,
        [colour for colour in COLOURS if colour not in existing],
        idle,
    ):
        for colour in COLOURS:
            if colour in candidates:
                return colour
    return None


def variable_problem(name: str) -> str | None:
    """Why no process can have an environment variable of this name; None when one can."""
    if not name or "=" in name or not name.isprintable():
        return f"{name!r} cannot be a variable: expected printable characters without '='."
    return None
