"""Model versions as clients write them: text with a whole number in it."""

import re

from worker_runtime.errors import InvalidArgument

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_INT64 = 1 << 63


def version_number(text: str) -> str:
    """The number that ``text`` begins with, in its plain form. Raises InvalidArgument."""
    found = _NUMBER.match(text)
    number = int(found[1]) if found else 0
    if found is None or not -_INT64 <= number < _INT64:
        raise InvalidArgument(
            f"failed to get model version from specified version string '{text}' (details: stol), "
            "version should be an integral value > 0"
        )
    if number < 0:
        raise InvalidArgument(
            f"invalid model version specified '{text}' , version should be an integral value > 0"
        )
    return str(number)
