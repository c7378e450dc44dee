"""Each setting of a deployment is wherever a setting has to be, and is listed nowhere but where the
recipe of docs/architecture.md says."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.autoscaling import Policy, Targets, policy_to_json
from controlplane.core.errors import Invalid
from controlplane.deployments.capturing import Capture, capture_to_json
from controlplane.deployments.models import Deployment, DeploymentRevision, InstanceType
from controlplane.deployments.spec import (
    DESCRIPTIVE,
    REVISIONED,
    ROUTED,
    RUN_SETTINGS,
    SETTINGS,
    Choice,
    Kind,
    Number,
    RunSettings,
    Setting,
    Spec,
    settings_from_json,
)
from node_agent.signed import ARGUMENT
from shoal.entities.keys import Walk, check
from shoal.entities.schemas import DEPLOYMENT
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.messages import DesiredReplica
from worker_runtime.config import parse
from worker_runtime.core.response_cache import cache_from

ROOT = Path(__file__).parents[4]
PLACES = {
    "controlplane/deployments/spec.py",
    "shoal/entities/settings.py",
    "frontend/src/components/deployment-numbers.ts",
}
BLUE = "/api/v1/endpoints/digits/deployments/blue"
PROBE = {
    "initial_delay": 0, "period": 1, "timeout": 1, "success_threshold": 2, "failure_threshold": 3
}  # fmt: skip
OTHER: dict[Kind, Any] = {
    Kind.SWITCH: False,
    Kind.TEXT: "handwritten",
    Kind.NAME: "small",
    Kind.TEXTS: {"zone": "a"},
    Kind.VARIABLES: {"APP_MODE": "fast"},
    Kind.SECRETS: {"APP_TOKEN": "t0ken"},
    Kind.PROBE: PROBE,
    Kind.DECLARED: {"sku": "F2"},
    Kind.POLICY: policy_to_json(Policy(max=4, targets=Targets(in_flight=2))),
    Kind.CAPTURE: capture_to_json(Capture(sampling_rate=0.5, drop=("name",))),
}
database = pytest.mark.django_db(databases=["default", "metrics"])
every = pytest.mark.parametrize("name", SETTINGS)


def other(setting: Setting) -> Any:
    """What is not its default."""
    match setting.value:
        case Number(_, most):
            return most
        case Choice(options):
            return next(value for value in options.values if value != setting.default)
        case Kind() as kind:
            return OTHER[kind]


def shown(setting: Setting, value: Any) -> Any:
    """As REST tells ``value``: of secrets the names, and of nothing named null."""
    match setting.value:
        case Kind.SECRETS:
            return sorted(value)
        case Kind.NAME:
            return value or None
    return value


@pytest.fixture
def ready(api: APIClient) -> APIClient:
    model_register()
    InstanceType.objects.create(name="small")
    assert api.post("/api/v1/endpoints", {"name": "digits"}, format="json").status_code == 201
    return api


def put(api: APIClient, **said: Any) -> Any:
    return api.put(BLUE, {"model": "digits", "version": "1", **said}, format="json")


@database
@every
def test_it_is_taken_with_a_new_deployment_and_shown(ready: APIClient, name: str) -> None:
    setting = SETTINGS[name]
    assert put(ready, **{name: other(setting)}).status_code == 201
    found = ready.get(BLUE).json()
    assert found[name] == shown(setting, other(setting))
    rest = [one for one in SETTINGS if one != name]
    assert [found[one] for one in rest] == [
        shown(SETTINGS[one], SETTINGS[one].default) for one in rest
    ]


@database
@every
@pytest.mark.parametrize("rolled", [False, True], ids=["patch", "update"])
def test_it_is_changed_as_it_says(ready: APIClient, name: str, rolled: bool) -> None:
    setting, said = SETTINGS[name], {name: other(SETTINGS[name])}
    node = SimulatedNode()
    put(ready)
    node.bring_up()
    gateway_confirms()
    ask = ready.post if rolled else ready.patch
    done = ask(f"{BLUE}/update" if rolled else BLUE, said, format="json")
    if rolled and name not in REVISIONED:
        assert done.status_code == 400
        return
    assert done.status_code == (202 if name in REVISIONED else 200), done.content
    assert ready.get(BLUE).json()[name] == shown(setting, other(setting))
    revisions = ready.get(f"{BLUE}/revisions").json()["items"]
    if name in REVISIONED:
        told = [shown(setting, value) for value in (other(setting), setting.default)]
        assert [row[name] for row in revisions] == told
    else:
        assert [name in row for row in revisions] == [False]


@database
@every
def test_what_runs_is_put_again_without_a_change(ready: APIClient, name: str) -> None:
    node = SimulatedNode(labels={"zone": "a"})
    said = {} if SETTINGS[name].value is Kind.SECRETS else {name: other(SETTINGS[name])}
    put(ready, config_revision=0, **said)
    node.bring_up()
    gateway_confirms()
    assert put(ready, config_revision=0, **said).status_code == 200


@database
@pytest.mark.parametrize("name", [*DESCRIPTIVE, *ROUTED, *RUN_SETTINGS])
def test_nodes_are_told_it_where_it_says_and_nowhere_else(ready: APIClient, name: str) -> None:
    node = SimulatedNode()
    put(ready)
    (before,) = node.desired().replicas
    value = other(SETTINGS[name])
    if name in RUN_SETTINGS:
        row = DeploymentRevision.objects.get()
        row.spec[name] = value
        row.save()
    else:
        Deployment.objects.update(**{name: value})
    (after,) = node.desired().replicas
    differ = {
        part.name
        for part in fields(DesiredReplica)
        if getattr(before, part.name) != getattr(after, part.name)
    }
    allowance = {"load_timeout_s"}  # a readiness probe says when a replica has started
    assert differ - allowance == {SETTINGS[name].agent_field} - {""}


@pytest.mark.parametrize("name", [name for name in SETTINGS if SETTINGS[name].argument])
def test_its_flag_is_one_that_runtimes_take_and_nodes_allow(tmp_path: Path, name: str) -> None:
    setting = SETTINGS[name]
    assert isinstance(setting.value, Number)
    repository = f"--model-repository={tmp_path}"
    for value in (setting.value.least or 1, setting.value.most):
        flag = setting.argument.format(value)
        assert ARGUMENT.fullmatch(flag)
        assert parse([repository, flag]) != parse([repository])


def test_the_response_cache_is_as_large_as_was_said(tmp_path: Path) -> None:
    flag = SETTINGS["response_cache_bytes"].argument.format(4096)
    cache = cache_from(parse([f"--model-repository={tmp_path}", flag]).cache_config)
    assert cache is not None
    assert cache.byte_size == 4096


@every
def test_files_say_it_in_its_place_or_not_at_all(name: str) -> None:
    block, _, key = (SETTINGS[name].yaml or name).rpartition(".")
    walk = Walk()
    check({block: {key: 1}} if block else {key: 1}, DEPLOYMENT, "", walk)
    unknown = [fault.where for fault in walk.faults if "there is no such key" in fault.text]
    assert bool(unknown) == (not SETTINGS[name].yaml)


@pytest.mark.parametrize("name", ["response_cache_bytes"])
def test_a_number_of_the_replicas_has_four_places_at_most(name: str) -> None:
    found = {
        str(file.relative_to(ROOT))
        for folder in ("controlplane", "node_agent", "shoal", "wire", "frontend/src")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in (".py", ".ts", ".tsx")
        and not file.name.endswith((".test.ts", "schema.d.ts"))
        and name in file.read_text(encoding="utf-8")
    }
    assert found == PLACES


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"max_queue_wait_ms": -1}, "-1 is out of range: expected 0 to 3600000."),
        ({"request_timeout_ms": 0}, "0 is out of range: expected 1 to 3600000."),
        ({"anti_affinity": "some"}, "'some', expected one of preferred, required."),
    ],
)
def test_a_spec_that_cannot_be_is_not_made(said: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as caught:
        Spec(model="digits", **said)
    (field,) = said
    assert (caught.value.field, caught.value.message) == (field, f"{field}: {words}")


def test_what_a_revision_does_not_know_has_its_default() -> None:
    assert settings_from_json({}) == RunSettings()
    assert settings_from_json({"gone": 1, "max_queue_wait_ms": 5}) == RunSettings(
        max_queue_wait_ms=5
    )
