"""Why a model runs code: reasons as the runtime's inspection gives them; told here by nothing else.

Pure: kept, compared and counted; who asks for them is ``services.code_assessment``.
"""

from collections.abc import Iterable
from typing import Any, Final, TypedDict

CONFIG: Final = "config.pbtxt"
# what the inspection tells, and what a runtime may be allowed
KINDS: Final = ("python", "library", "pickle", "environment", "packages", "files", "unknown")


class CodeReason(TypedDict):
    """Why something runs code: the file that says so, and the sentence for people."""

    file: str
    kind: str
    value: str  # what a configuration names, if it is a configuration that says so
    message: str


UNJUDGED: Final = CodeReason(
    file="",
    kind="unknown",
    value="",
    message="It has not been assessed yet: it was uploaded to an earlier version of Shoal.",
)


def reasons_kept(found: Any) -> list[CodeReason]:
    """What a row has kept; of one that was never assessed, that it was not: that waits as well."""
    return [UNJUDGED] if found is None else list(found)


def told_once(reasons: Iterable[CodeReason]) -> list[CodeReason]:
    """Each reason once, and no "asks for the Python backend" beside the Python code itself."""
    found = reasons_joined(reasons)
    python = any(reason["kind"] == "python" and CONFIG not in reason["file"] for reason in found)
    return [
        reason
        for reason in found
        if not (python and reason["kind"] == "python" and CONFIG in reason["file"])
    ]


def reasons_joined(*several: Iterable[CodeReason]) -> list[CodeReason]:
    """Of several lists; each reason once."""
    return list({code_key(reason): reason for reasons in several for reason in reasons}.values())


def code_key(reason: CodeReason) -> tuple[str, str, str]:
    """What an approval is compared by; sentences may be worded anew."""
    return reason["file"], reason["kind"], reason["value"]


def code_kinds(reasons: Iterable[CodeReason]) -> list[str]:
    return sorted({reason["kind"] for reason in reasons})
