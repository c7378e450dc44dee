"""The SDK's names and parameters against those of the real azure-ai-ml, recorded in a file.

``make azure-oracle`` records them anew.
"""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal import MLClient, aio, constants, entities, exceptions, sdk

RECORDED: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[2] / "support" / "azure_yaml" / "surface.json").read_text()
)
OURS: dict[str, Any] = {
    "MLClient": MLClient,
    "models": sdk.ModelOperations,
    "online_endpoints": sdk.OnlineEndpointOperations,
    "online_deployments": sdk.OnlineDeploymentOperations,
    "poller": sdk.LROPoller,
    "load": shoal,
    "entities": entities,
}
AWAITED: dict[str, Any] = {
    "models": aio.ModelOperations,
    "online_endpoints": aio.OnlineEndpointOperations,
    "online_deployments": aio.OnlineDeploymentOperations,
    "poller": aio.AsyncLROPoller,
}
# What the real package has and this one has not, each with its reason.
NOT_HERE = {
    ("poller", "add_done_callback"): "on_progress tells the end too",
    ("poller", "remove_done_callback"): "as above",
    ("poller", "continuation_token"): "an operation is gone on with by its id: shoal op watch",
    ("poller", "from_continuation_token"): "as above",
    ("poller", "polling_method"): "how azure-core polls is its own business",
}
# Parameters that the real constructors take and these do not.
NOT_TAKEN = {
    ("entities", "Model", "utc_time_created"): "creation_context has it, as the installation says",
    ("entities", "Model", "default_deployment_template"): "there are no templates",
    ("entities", "Model", "allowed_deployment_templates"): "there are no templates",
    ("entities", "OnlineEndpoint", "scoring_uri"): "told by the installation, not asked of it",
    ("entities", "OnlineEndpoint", "openapi_uri"): "told by the installation, not asked of it",
    ("entities", "OnlineEndpoint", "provisioning_state"): "told by the installation",
}
# Refused in words by the blocking SDK; there is nothing to await.
REFUSED = {("models", "package"), ("models", "share")}
# asyncio.timeout is how one waits for so long and no longer.
NOT_AWAITED = {("poller", "result", "timeout"), ("poller", "wait", "timeout")}


def rows(parts: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (part, name)
        for part in parts
        for name in RECORDED[part]
        if name and (part, name) not in NOT_HERE
    ]


def accepts(function: Callable[..., Any], name: str) -> bool:
    """By name; the rest goes where ``**_`` or ``*_`` takes it."""
    found = inspect.signature(function).parameters
    return name in found or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in found.values()
    )


@pytest.mark.parametrize(("part", "name"), rows(OURS))
def test_everything_of_azure_ai_ml_is_here_with_its_parameters(part: str, name: str) -> None:
    ours = getattr(OURS[part], name)
    wanted = [word for word in RECORDED[part][name] if (part, name, word) not in NOT_TAKEN]
    assert [word for word in wanted if not accepts(ours, word)] == []


def test_the_client_takes_azure_s_arguments_in_azure_s_order() -> None:
    found = list(inspect.signature(MLClient).parameters)
    assert found[: len(RECORDED["MLClient"][""])] == RECORDED["MLClient"][""]


@pytest.mark.parametrize(("part", "name"), [row for row in rows(AWAITED) if row not in REFUSED])
def test_what_is_awaited_has_the_same_names(part: str, name: str) -> None:
    awaited, blocking = getattr(AWAITED[part], name), getattr(OURS[part], name)
    said = [
        word
        for word, parameter in inspect.signature(blocking).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        and word not in ("self", "stage", "local", "params_override")
        and (part, name, word) not in NOT_AWAITED
    ]
    assert [word for word in said if not accepts(awaited, word)] == []


def test_nothing_is_excused_that_is_here() -> None:
    assert [name for part, name in NOT_HERE if hasattr(OURS[part], name)] == []
    taken = [row for row in NOT_TAKEN if accepts(getattr(OURS[row[0]], row[1]), row[2])]
    assert taken == []


@pytest.mark.parametrize("name", sorted(RECORDED["constants"]))
def test_constants_are_azure_s(name: str) -> None:
    kind = getattr(constants, name)
    assert {key: str(getattr(kind, key)) for key in RECORDED["constants"][name]} == (
        RECORDED["constants"][name]
    )


def test_exceptions_under_azure_s_names_are_those_that_calls_raise() -> None:
    own = {kind for kind in vars(exceptions).values() if isinstance(kind, type)}
    theirs = {name for name in exceptions.__all__ if name in RECORDED["exceptions"]}
    assert {"MlException", "ValidationException", "DeploymentException"} <= theirs
    assert all(getattr(exceptions, name).__name__ in exceptions.__all__ for name in theirs)
    assert all(issubclass(kind, exceptions.ShoalError | KeyboardInterrupt) for kind in own)
    with pytest.raises(exceptions.ValidationException, match="auth_mod"):
        shoal.load_online_endpoint({"name": "net", "auth_mod": "key"})
