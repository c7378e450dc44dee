"""Envoy's configuration as files: wrapping resources, replacing files atomically."""

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class XdsFolder:
    """The folder Envoy watches. A file is replaced whole: Envoy sees the old content or the new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writes = 0  # of files that changed

    def prepare(self) -> None:
        (self.folder / "rds").mkdir(parents=True, exist_ok=True)

    def write_listeners(self, resources: list[dict[str, Any]]) -> str:
        return self._write("lds.json", resources)

    def write_secret(self, resource: dict[str, Any]) -> str:
        return self._write("sds.json", [resource])

    def write_keys(self, resource: dict[str, Any]) -> str:
        return self._write("keys.json", [resource])

    def write_clusters(self, resources: Iterable[dict[str, Any]]) -> str:
        return self._write("cds.json", sorted(resources, key=lambda item: str(item["name"])))

    def write_routes(self, name: str, resource: dict[str, Any]) -> str:
        return self._write(f"rds/{name}.json", [resource])

    def clusters(self) -> dict[str, dict[str, Any]]:
        """Name -> resource of the clusters that Envoy was last told of."""
        content = json.loads((self.folder / "cds.json").read_text())
        return {resource["name"]: resource for resource in content["resources"]}

    def has_keys(self) -> bool:
        return (self.folder / "keys.json").exists()

    def routes(self, name: str) -> dict[str, Any]:
        """The route table that Envoy was last told of."""
        found: dict[str, Any] = json.loads((self.folder / "rds" / f"{name}.json").read_text())
        (resource,) = found["resources"]
        return dict(resource)

    def has_clusters(self) -> bool:
        return (self.folder / "cds.json").exists()

    def has_routes(self, name: str) -> bool:
        return (self.folder / "rds" / f"{name}.json").exists()

    def remove_endpoints(self) -> None:
        """The files that clusters had before their endpoints stood within them."""
        shutil.rmtree(self.folder / "eds", ignore_errors=True)

    def _write(self, name: str, resources: list[dict[str, Any]]) -> str:
        """The version that Envoy will name once it serves by these resources.

        It is a digest of the content: Envoy keeps the old version when an update changes nothing.
        """
        body = json.dumps(resources, sort_keys=True)
        version = hashlib.sha256(body.encode()).hexdigest()[:32]
        content = f'{{"version_info": "{version}", "resources": {body}}}'
        file = self.folder / name
        if not file.exists() or file.read_text() != content:
            temporary = file.with_name(f".{file.name}.new")
            temporary.write_text(content)
            temporary.replace(file)
            self.writes += 1
        return version
