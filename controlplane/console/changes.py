"""Pure: what differs between two values of JSON, told so that only that travels.

A change is a list that holds the value to take instead, or an object that names the members of an
object, or the places of a list, that differ, each with its own change. ``{}``: nothing does.
"""

from typing import Any

Change = list[Any] | dict[str, Any]


def change_of(before: Any, after: Any) -> Change:
    """What makes ``after`` of ``before``. Both are as ``json`` gives them; what Python takes for
    equal, 1 and 1.0 as well as 1 and true, does not differ."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        pairs = ((name, before[name], value) for name, value in after.items())
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = ((str(i), old, new) for i, (old, new) in enumerate(zip(before, after, strict=True)))
    else:
        return {} if before == after else [after]
    return {name: change_of(old, new) for name, old, new in pairs if old != new}
