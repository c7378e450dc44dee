"""Grafana's dashboards are what their table says; they and alarms ask only for what is exported."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.deployments.types import ServingState
from controlplane.metrics.totals import REGISTRY
from controlplane.nodes.states import NodeState
from worker_runtime.core.statistics import FailureReason
from worker_runtime.observability.metrics import models as runtime_models

ROOT = Path(__file__).parents[4]
PROMETHEUS = ROOT / "deploy" / "prometheus"
FOLDER = ROOT / "deploy" / "grafana"
BUILT = runpy.run_path(str(FOLDER / "build.py"))
DASHBOARDS = {dashboard.name: dashboard for dashboard in BUILT["DASHBOARDS"]}
# What reads as a metric's name: ours, Triton's, and those of the client library.
NAME = re.compile(r"\b(?:nv|shoal|process)_\w+")
SOURCES = ("worker_runtime/observability/metrics", "controlplane/system", "controlplane/metrics")
OF_A_HISTOGRAM = ("_bucket", "_sum", "_count")


def exported() -> set[str]:
    """Every name that the code of the exporters has, with what histograms make of theirs."""
    text = "\n".join(
        file.read_text() for folder in SOURCES for file in (ROOT / folder).glob("*.py")
    )
    names = set(re.findall(r'"((?:nv|shoal)_\w+)"', text))
    names |= {f"{name}_total" for name in names} | {"process_resident_memory_bytes"}
    names |= {f"shoal_inference_{phase}_seconds" for phase in runtime_models.PHASE_TEXTS}
    names |= {f"shoal_{what}_age_seconds" for what in ("replica_sample", "gateway_sample")}
    names |= {f"shoal_{what}_age_seconds" for what in ("node_sample", "roll_up")}
    names |= {family.name for family in REGISTRY.collect()}
    return names | {name + end for name in names for end in OF_A_HISTOGRAM}


def panels(name: str) -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    found: list[dict[str, Any]] = content["panels"]
    return found


def test_every_dashboard_has_a_file_and_every_file_a_dashboard() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == set(DASHBOARDS)


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_files_are_as_their_table_says(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text()
    assert text == BUILT["text_of"](DASHBOARDS[name]), "run python deploy/grafana/build.py"


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_panels_ask_for_what_is_exported(name: str) -> None:
    asked = {
        metric
        for panel in panels(name)
        for target in panel["targets"]
        for metric in NAME.findall(target["expr"])
    }
    assert asked
    assert not asked - exported()


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_panels_stand_beside_each_other(name: str) -> None:
    places = [panel["gridPos"] for panel in panels(name)]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    ids = [panel["id"] for panel in panels(name)]
    assert len(ids) == len(set(ids))


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_alarms_ask_for_what_is_exported_and_say_what_to_do(rule: dict[str, Any]) -> None:
    asked = set(NAME.findall(rule["expr"]))
    assert asked
    assert not asked - (exported() | {"shoal_build_info"})
    assert rule["expr"].count("(") == rule["expr"].count(")")
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert {"summary", "description", "runbook"} == set(rule["annotations"])
    page = (ROOT / rule["annotations"]["runbook"]).read_text()
    assert f"`{rule['alert']}`" in page, "the runbook names the alarm that leads to it"
    # a state that nothing is ever in would be an alarm that never rings
    for state in re.findall(r'state="(\w+)"', rule["expr"]):
        assert state in {*NodeState.values, *ServingState.values}
    for reason in re.findall(r'reason="(\w+)"', rule["expr"]):
        FailureReason(reason)


def test_prometheus_reads_the_alarms() -> None:
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    assert configuration["rule_files"] == ["rules.yml"]
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names))
