"""Pure: what endpoints, deployments and projects may be called."""

import re
from typing import Final

from controlplane.core.errors import Invalid

RULE: Final = re.compile(r"[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?")
SHORTEST: Final = 3
LONGEST: Final = 32
SHOWN: Final = 60  # characters of one that is none


class NameInvalid(Invalid):
    code = "NameInvalid"
    tries = ("Begin with a letter; then letters, digits and hyphens, 32 characters at most.",)


def name_check(name: str, *, field: str) -> str:
    """The name, if it is one. Raises NameInvalid."""
    if SHORTEST <= len(name) <= LONGEST and RULE.fullmatch(name):
        return name
    raise NameInvalid(
        f"{field}: {name[:SHOWN]!r} cannot be a name here, "
        f"expected {SHORTEST} to {LONGEST} letters, digits and hyphens.",
        field=field,
        hints=(
            f"{SHORTEST} to {LONGEST} letters, digits and hyphens; "
            "a letter first, no hyphen at the end.",
        ),
    )
