"""What a client of Azure's may do wrong that nobody else can."""

from typing import Any

from controlplane.core.errors import Invalid, NotFound


class AzureInvalid(Invalid):
    tries = ("docs/from-azure-ml.md lists what is honoured, and what is refused.",)


class AssetNotFound(NotFound):
    tries = ("Send it again: files that no model was made of are kept for some days.",)


class BlobNotFound(NotFound):
    code = "BlobNotFound"
    tries = ("Names are those that were sent, and case counts.",)


def object_of(given: object, field: str) -> dict[str, Any]:
    """An object of a body, empty where there is none. Raises AzureInvalid."""
    if given is not None and not isinstance(given, dict):
        raise AzureInvalid(f"{field}: {str(given)[:40]!r}, expected an object.", field=field)
    return given or {}
