"""`--supersede` and `supersede=`: what reaches the server, and what is no longer waited for."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import Client
from shoal.display.watcher import Quiet
from shoal.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint
from tests.support.shoal_server import FakeServer


class Asked:
    """Remembers the last of the calls that match, and lets the server answer them."""

    def __init__(self, server: FakeServer, pattern: str) -> None:
        self.flags: dict[str, str] | None = None
        self.body: dict[str, Any] = {}
        server.fail_next(pattern, self._seen, times=9)

    def _seen(self, request: httpx.Request) -> None:
        self.flags = dict(request.url.params)
        self.body = json.loads(request.content or b"{}")


@pytest.fixture
def ml_client(client: Client) -> MLClient:
    return MLClient(client=client, watcher=Quiet())


def blue(count: int = 1, version: str = "1") -> ManagedOnlineDeployment:
    return ManagedOnlineDeployment(
        name="blue", endpoint_name="net", model=f"azureml:net:{version}", instance_count=count
    )


@pytest.fixture
def serving(installed: FakeServer, ml_client: MLClient, tmp_path: Path) -> FakeServer:
    (tmp_path / "net.onnx").write_bytes(b"graph")
    assert main(["deploy", "net.onnx"]) == 0
    installed.endpoints["net"]["deployments"].clear()  # that one tells less of itself
    ml_client.online_deployments.begin_create_or_update(blue(), all_traffic=True).result()
    return installed


BLUE = ("-n", "blue", "-e", "net", "--no-wait")
COMMANDS = [
    ("PATCH /endpoints/net", ("traffic", "net", "blue=0")),
    (
        "PATCH /endpoints/net",
        ("online-endpoint", "update", "-n", "net", "--traffic", "blue=0"),
    ),
    ("PATCH /endpoints/net", ("traffic", "net", "--mirror", "blue=10")),
    (r"POST /operations/\w+/retry", ("operation", "retry", "o1", "--no-wait")),
    ("POST /deploy", ("deploy", "net.onnx")),
    (
        r"PATCH /endpoints/net/deployments/blue",
        ("online-deployment", "update", *BLUE, "--set", "instance_count=3"),
    ),
    (
        "POST /endpoints/net/deployments/blue/stop",
        ("online-deployment", "stop", *BLUE, "--force"),
    ),
    ("POST /endpoints/net/deployments/blue/start", ("online-deployment", "start", *BLUE)),
]


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize(("call", "command"), COMMANDS, ids=lambda one: str(one)[:40])
def test_commands_say_it_only_when_they_are_told_to(
    serving: FakeServer, call: str, command: tuple[str, ...], wanted: bool
) -> None:
    asked = Asked(serving, call)
    assert main([*command, *(["--supersede"] if wanted else [])]) == 0
    assert asked.flags is not None
    assert asked.flags.get("supersede") == ("true" if wanted else None)


STARTING = [one for one in COMMANDS if one[1][0] in ("deploy", "operation") or "--set" in one[1]]


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize(("call", "command"), STARTING, ids=lambda one: str(one)[:40])
def test_golden_cases_are_skipped_only_where_somebody_says_so(
    serving: FakeServer, call: str, command: tuple[str, ...], wanted: bool
) -> None:
    asked = Asked(serving, call)
    assert main([*command, *(["--skip-golden"] if wanted else [])]) == 0
    assert asked.flags is not None
    assert asked.flags.get("skip_golden") == ("true" if wanted else None)


def test_the_sdk_skips_golden_cases_of_what_it_makes(
    serving: FakeServer, ml_client: MLClient
) -> None:
    asked = Asked(serving, "POST /endpoints/net/deployments$")
    green = ManagedOnlineDeployment(name="green", endpoint_name="net", model="azureml:net:1")
    ml_client.online_deployments.begin_create_or_update(green, skip_golden=True)
    assert asked.flags == {"skip_golden": "true"}


@pytest.mark.parametrize(
    ("state", "entity", "call"),
    [
        # what is shown is what the change under way wants, and that is undone: all is said again
        ("Updating", blue(), "PATCH /endpoints/net/deployments/blue"),
        ("Creating", blue(), "PATCH /endpoints/net/deployments/blue"),
        ("Scaling", blue(count=3), "PATCH /endpoints/net/deployments/blue"),
        ("Succeeded", blue(count=3), "PATCH /endpoints/net/deployments/blue"),
        ("Failed", blue(), "POST /endpoints/net/deployments"),
    ],
)
def test_a_deployment_is_made_what_is_said_whatever_goes_on(
    serving: FakeServer,
    ml_client: MLClient,
    state: str,
    entity: ManagedOnlineDeployment,
    call: str,
) -> None:
    row = serving.endpoints["net"]["deployments"][0]
    row["provisioning_state"] = state
    asked = Asked(serving, call)
    ml_client.online_deployments.begin_create_or_update(entity, supersede=True).result()
    assert asked.flags == {"supersede": "true"}
    said = (asked.body["model"], asked.body["version"], asked.body["instance_count"])
    assert said == ("net", "1", entity.instance_count)


def test_traffic_moves_without_waiting_for_who_comes_up(
    serving: FakeServer, ml_client: MLClient
) -> None:
    row = serving.endpoints["net"]["deployments"][0]
    row |= {"provisioning_state": "Scaling", "operation": next(iter(serving.operations))}
    serving.endpoints["net"]["traffic"] = {}
    before = len(serving.calls)
    ml_client.online_endpoints.set_traffic("net", {"blue": 100}, supersede=True).result()
    assert not [call for call in serving.calls[before:] if "/operations/" in call]
    assert serving.endpoints["net"]["traffic"] == {"blue": 100}


def test_an_endpoint_passes_it_on(serving: FakeServer, ml_client: MLClient) -> None:
    asked = Asked(serving, "PATCH /endpoints/net")
    entity = ManagedOnlineEndpoint(name="net", traffic={"blue": 0})
    ml_client.begin_create_or_update(entity, supersede=True).result()
    assert asked.flags == {"supersede": "true"}


def test_a_retry_is_waited_for_unless_told_not_to(
    serving: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    last = len(serving.operations)
    assert main(["operation", "retry", "o1", "--no-wait", "-o", "json"]) == 0
    accepted = json.loads(capsys.readouterr().out)
    assert (accepted["id"], accepted["state"]) == (f"o{last + 1}", "Running")
    assert main(["operation", "retry", "o1", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "Succeeded"
    serving.operation_error = {"code": "ModelLoadFailed", "message": "It does not load."}
    assert main(["operation", "retry", "o1"]) == 1
