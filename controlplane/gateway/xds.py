"""Envoy's configuration as files: wrapping resources, replacing files atomically."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class XdsFolder:
    """The folder Envoy watches. A file is replaced whole: Envoy sees the old content or the new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        for part in ("eds", "rds"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)

    def write_listeners(self, resources: list[dict[str, Any]]) -> None:
        self._write("lds.json", "local", resources)

    def write_secret(self, resource: dict[str, Any]) -> None:
        self._write("sds.json", "local", [resource])

    def write_endpoints(self, cluster: str, version: str, resource: dict[str, Any]) -> None:
        """why one file per cluster: Envoy finds zero hosts in a file that holds several."""
        self._write(f"eds/{cluster}.json", version, [resource])

    def write_clusters(self, version: str, resources: Iterable[dict[str, Any]]) -> None:
        self._write("cds.json", version, list(resources))

    def write_routes(self, name: str, version: str, resource: dict[str, Any]) -> None:
        self._write(f"rds/{name}.json", version, [resource])

    def clusters(self) -> dict[str, dict[str, Any]]:
        """Name -> resource of the clusters that Envoy was last told of."""
        content = json.loads((self.folder / "cds.json").read_text())
        return {resource["name"]: resource for resource in content["resources"]}

    def has_clusters(self) -> bool:
        return (self.folder / "cds.json").exists()

    def has_routes(self, name: str) -> bool:
        return (self.folder / "rds" / f"{name}.json").exists()

    def endpoint_files(self) -> set[str]:
        """Names of the clusters that have an endpoints file."""
        return {path.stem for path in (self.folder / "eds").glob("*.json")}

    def remove_endpoints(self, cluster: str) -> None:
        (self.folder / "eds" / f"{cluster}.json").unlink(missing_ok=True)

    def _write(self, name: str, version: str, resources: list[dict[str, Any]]) -> None:
        content = json.dumps({"version_info": version, "resources": resources}, indent=1)
        file = self.folder / name
        if file.exists() and file.read_text() == content:
            return
        temporary = file.with_name(f".{file.name}.new")
        temporary.write_text(content)
        temporary.replace(file)
