"""Two sets of configurations side by side, as unified diffs."""

import difflib
from collections.abc import Mapping


def config_diffs(
    old: Mapping[str, str], new: Mapping[str, str], *, old_name: str, new_name: str
) -> dict[str, str]:
    """Model -> unified diff, for the models whose text differs."""
    found = {}
    for model in sorted({*old, *new}):
        before, after = old.get(model, ""), new.get(model, "")
        if before == after:
            continue
        lines = difflib.unified_diff(
            before.splitlines(),
            after.splitlines(),
            f"{model}/config.pbtxt {old_name}",
            f"{model}/config.pbtxt {new_name}",
            lineterm="",
        )
        found[model] = "\n".join(lines) + "\n"
    return found
