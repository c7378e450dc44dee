"""What the kubelet would make of a pod of the chart, as a process of this machine. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.helm_chart import DOCKERFILE, Document, environment, standing

# Folders of a container that are this machine's own.
SHARED = ("/tmp", "/dev/shm")
# The signal that ends a container, where its image names one.
STOP_SIGNAL = re.compile(r"^STOPSIGNAL (\w+)$", re.MULTILINE)

Secrets = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Place:
    """What Kubernetes decides of one pod: name, address, machine, and where its volumes lie."""

    name: str
    address: str
    machine: str
    volumes: Mapping[str, Path]

    def here(self, container: Document, text: str) -> str:
        """A text of the container with the paths of this machine."""
        for mount in container.get("volumeMounts", []):
            inside = mount["mountPath"]
            if inside not in SHARED:
                place = str(self.volumes[mount["name"]])
                text = re.sub(rf"(?<![\w.])({re.escape(inside)})(?=/|$|[\s\"])", place, text)
        return text

    def argv(self, container: Document, command: list[str] | None = None) -> list[str]:
        """Its command, or another one in it."""
        words = command or container.get("command") or standing(image(container))
        return [self.here(container, word) for word in words]

    def variables(self, container: Document, secrets: Secrets) -> dict[str, str]:
        """Its environment: what the image says, then what the chart does.

        Raises KeyError where the chart names a Secret, or a key of one, that nobody made.
        """
        fields = {
            "status.podIP": self.address,
            "metadata.name": self.name,
            "spec.nodeName": self.machine,
        }
        told: dict[str, str] = {}
        for variable, entry in environment(container).items():
            text = entry.get("value")
            if text is None and "fieldRef" in entry["valueFrom"]:
                text = fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
            elif text is None:
                reference = entry["valueFrom"]["secretKeyRef"]
                text = secrets[reference["name"]][reference["key"]]
            for known, value in told.items():
                text = text.replace(f"$({known})", value)
            told[variable] = self.here(container, text)
        standing_ones = {  # as deploy/Dockerfile has it
            "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
            "PYTHONUNBUFFERED": "1",
            "SHOAL_HOME": self.here(container, "/data"),
        }
        return {**standing_ones, **told}


def image(container: Document) -> str:
    """Which target of deploy/Dockerfile it is: control, gateway or node."""
    name: str = container["image"].rpartition("-")[2].partition(":")[0]
    return name


def stop_signal(container: Document) -> str:
    """SIGTERM, or what its image says instead."""
    stage = DOCKERFILE.split(f"AS {image(container)}\n", 1)[1].partition("\nFROM ")[0]
    found = STOP_SIGNAL.search(stage)
    return found.group(1) if found else "SIGTERM"


def secret_files(volume: Document, secrets: Secrets) -> dict[str, str]:
    """Path -> content of a volume that is made of a Secret."""
    held = secrets[volume["secret"]["secretName"]]
    items = volume["secret"].get("items", [{"key": key, "path": key} for key in held])
    return {item["path"]: held[item["key"]] for item in items}


def claim(volume: Document) -> str:
    """The name of the PersistentVolumeClaim that all pods share; empty for a pod's own volume."""
    name: str = volume.get("persistentVolumeClaim", {}).get("claimName", "")
    return name
