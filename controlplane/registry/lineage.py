"""Where a version comes from: what its import found, and what somebody states. Pure.

One rule where the two meet: what was found stands. Stating it again says nothing new, and stating
something else is refused. What was stated may be stated anew at any time.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from controlplane.core.addresses import LONGEST_URL, url_check
from controlplane.core.errors import Invalid
from controlplane.core.validation_messages import shown

STATED: Final = "stated"  # the kind of a lineage of which nothing was found
LONGEST: Final[Mapping[str, int]] = {
    "address": LONGEST_URL,
    "run": 500,
    "run_url": LONGEST_URL,
    "commit": 500,
    "dataset": 500,
}
LINKS: Final = ("http", "https")
# Kept and shown; of these only LINKS are ever a link.
SCHEMES: Final = (
    *LINKS, "hf", "s3", "gs", "abfss", "azureml", "dbfs", "runs", "models", "git", "ssh",
)  # fmt: skip
_COMMIT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


def stated_read(values: Mapping[str, str]) -> dict[str, str]:
    """What is said in it, checked. Raises Invalid with the field."""
    said = {name: values.get(name, "").strip() for name in LONGEST}
    return {name: _checked(name, text) for name, text in said.items() if text}


def stated_beside(found: Mapping[str, Any], stated: Mapping[str, str]) -> dict[str, str]:
    """What of ``stated`` was not found. Raises Invalid where it is not what was found.

    Before ``stated_read``: what a source tells of itself may look otherwise than what we take.
    """
    for name, text in stated.items():
        known = str(found.get(name) or "").strip()
        if known and text.strip() not in ("", known):
            raise Invalid(
                f"lineage.{name}: {shown(text)}, expected {shown(known)}, which the import found.",
                field=f"lineage.{name}",
                hints=("What an import found stands: leave it out.",),
            )
    return {name: text for name, text in stated.items() if not found.get(name)}


def lineage_of(found: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """Both in one, and which fields somebody stated; nothing where nothing is known."""
    if not stated:
        return dict(found)
    told = {name: text for name, text in stated.items() if name in LONGEST}
    who = {"by": stated["by"], "at": stated["at"]}
    return {
        "kind": STATED,
        "address": "",
        **who,
        **found,
        **told,
        "stated": list(told),
        "stated_by": who["by"],
        "stated_at": who["at"],
    }


def _checked(name: str, text: str) -> str:
    field = f"lineage.{name}"
    if len(text) > (most := LONGEST[name]):
        raise _wrong(field, text, f"at most {most} characters, not {len(text)}")
    if not text.isprintable():  # also what turns the direction of writing, or cannot be seen
        raise _wrong(field, text, "one line without control characters")
    if name == "commit" and (not _COMMIT.fullmatch(text) or text == "HEAD"):
        raise _wrong(
            field,
            text,
            "the commit itself, in letters, digits and . _ / -",
            hints=("`git rev-parse HEAD` prints it; so does `shoal model create --commit HEAD`.",),
        )
    if name == "run_url" and _scheme(text) not in LINKS:
        raise _wrong(field, text, "a link: https://host/path")
    if name in ("address", "run_url"):
        _address_check(field, text)
    return text


def _address_check(field: str, text: str) -> None:
    scheme = _scheme(text)
    if scheme not in SCHEMES:
        raise _wrong(
            field,
            text,
            f"an address that begins with one of {', '.join(SCHEMES)}",
            hints=("https://github.com/owner/name, s3://bucket/path, runs:/RUN_ID, ...",),
        )
    if scheme in LINKS:
        url_check(text, field)
        return
    try:
        password = urlsplit(text).password
    except ValueError as error:
        raise _wrong(field, text, f"an address; {error}") from error
    if password is not None:  # why not the value: it has a secret in it
        raise Invalid(
            f"{field}: it has a password before the host, expected an address without one.",
            field=field,
            hints=("Everybody who sees the model sees its lineage.",),
        )
    if " " in text or not text.partition(":")[2].strip("/"):
        raise _wrong(field, text, "an address without spaces that names something")


def _scheme(text: str) -> str:
    return text.partition(":")[0].lower() if ":" in text else ""


def _wrong(field: str, text: str, wanted: str, hints: tuple[str, ...] = ()) -> Invalid:
    return Invalid(f"{field}: {shown(text)}, expected {wanted}.", field=field, hints=hints)
