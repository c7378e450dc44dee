"""The bill of materials of what runs: the packages that Python finds installed, as CycloneDX."""

import uuid
from datetime import datetime
from importlib.metadata import Distribution, distributions
from typing import Any, Final
from urllib.parse import quote

SPECIFICATION: Final = "1.6"


def bill_of_materials(version: str, now: datetime) -> dict[str, Any]:
    """Shoal of ``version`` with all packages in its environment, by name, each once."""
    found = {reference(package): package for package in distributions()}
    components = [_component(package) for _, package in sorted(found.items())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": now.isoformat(),
            "component": {"type": "application", "name": "shoal", "version": version},
        },
        "components": [one for one in components if one["name"] != "shoal"],
    }


def reference(package: Distribution) -> str:
    """The package URL, by which advisories know it."""
    name = str(package.name).lower().replace("_", "-")
    return f"pkg:pypi/{quote(name)}@{quote(package.version)}"


def _component(package: Distribution) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
    }
    if "License-Expression" in package.metadata:
        found["licenses"] = [{"expression": package.metadata["License-Expression"]}]
    return found
