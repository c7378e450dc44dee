"""What scripts call around ``az ml``: stand-ins, each of which tells once what it does not do.

There is no cloud around an installation. What scripts read from these commands is answered so that
they go on; nothing is made, stored or deleted.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import click

from shoal import __version__
from shoal.cli.options import AzCommand, AzGroup, az_options, name_option
from shoal.cli.output import emit, output_option, print_fields

Arguments = tuple[str, ...]
ACCOUNT: Final = {
    "environmentName": "Shoal",
    "id": "shoal",
    "isDefault": True,
    "name": "shoal",
    "state": "Enabled",
    "tenantId": "shoal",
    "user": {"name": "shoal", "type": "user"},
}
DEFAULTS: Final = {
    name: {"name": name, "source": "shoal", "value": value}
    for name, value in (("group", "shoal"), ("location", "local"), ("workspace", "shoal"))
}
GROUP: Final = "/subscriptions/shoal/resourceGroups"
PROVIDERS: Final = f"{GROUP}/shoal/providers"


@dataclass(frozen=True, slots=True)
class StandIn:
    """``answer`` gets the words before the first option and ``--name``; None prints nothing.
    ``why`` is told on stderr, empty: there is nothing to tell."""

    name: str
    why: str
    answer: Callable[[Arguments, str], object]
    short_help: str = "A stand-in."


def _account(arguments: Arguments, _: str) -> object:
    return {"show": ACCOUNT, "list": [ACCOUNT]}.get(arguments[0] if arguments else "")


def _group(arguments: Arguments, name: str) -> object:
    verb = arguments[0] if arguments else ""
    if verb in ("delete", "wait"):
        return None
    shown = {
        "id": f"{GROUP}/{name}",
        "location": "local",
        "name": name,
        "properties": {"provisioningState": "Succeeded"},
    }
    return {"exists": True, "list": [shown]}.get(verb, shown)


def _config(arguments: Arguments, _: str) -> object:
    if arguments[:1] != ("get",):
        return None
    if len(arguments) > 1:
        return DEFAULTS.get(arguments[1].removeprefix("defaults."))
    return {"defaults": list(DEFAULTS.values())}


def _version(_: Arguments, __: str) -> object:
    return {"azure-cli": "2.0.0", "extensions": {"ml": "2.0.0"}, "shoal": __version__}


def _workspace(arguments: Arguments, _: str) -> object:
    from shoal.sdk.workspaces import the_workspace

    verb = arguments[0] if arguments else ""
    if verb == "delete":
        return None
    found = the_workspace()
    shown = {
        "id": found.id,
        **found._to_dict(),
        "container_registry": f"{PROVIDERS}/Microsoft.ContainerRegistry/registries/shoal",
        "storage_account": f"{PROVIDERS}/Microsoft.Storage/storageAccounts/shoal",
    }
    return [shown] if verb == "list" else shown


def _registry(arguments: Arguments, name: str) -> object:
    return {"name": name, "loginServer": f"{name}.local"} if arguments[:1] == ("show",) else None


def _storage(arguments: Arguments, name: str) -> object:
    if arguments not in (("account", "create"), ("account", "show")):
        return None
    place = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/{name}"
    return {"id": place, "location": "local", "name": name}


def _identity(arguments: Arguments, name: str) -> object:
    place = f"{PROVIDERS}/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
    shown = {"clientId": "shoal", "id": place, "name": name, "principalId": "shoal"}
    return {"create": shown, "show": shown, "list": []}.get(arguments[0] if arguments else "")


def _nothing(_: Arguments, __: str) -> object:
    return None


ONE: Final = "an installation is one workspace"
SIGN_IN: Final = (
    "there is no cloud to sign in to; `shoal login` signs in to an installation elsewhere"
)
AROUND: Final = (
    StandIn("login", SIGN_IN, lambda _, __: [ACCOUNT]),
    StandIn("logout", SIGN_IN, _nothing),
    StandIn("version", "", _version, "Print the version."),
    StandIn("account", "", _account),
    StandIn("group", "there are no resource groups here", _group),
    StandIn("config", f"{ONE}, there is nothing to choose", _config),
    StandIn("acr", "no images are built, kept or run here", _registry),
    StandIn("storage", "nothing is stored: models are registered from local files", _storage),
    StandIn("identity", "there are no cloud identities here", _identity),
    StandIn("role", "roles are those of `shoal user`", _nothing),
)
WORKSPACE: Final = StandIn("workspace", ONE, _workspace)
RULE: Final = StandIn("rule", "it has no effect, `autoscale` of the deployment says more", _nothing)
CPU_PERCENT: Final = 70  # at which `monitor autoscale create` aims


def command_of(stand_in: StandIn) -> click.Command:
    @click.command(
        stand_in.name,
        cls=AzCommand,
        short_help=stand_in.short_help,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    @click.argument("rest", nargs=-1, type=click.UNPROCESSED)
    @name_option("Whatever it is called.")
    @click.option("--ids", hidden=True, expose_value=False)
    @az_options
    @output_option
    @click.pass_context
    def answered(context: click.Context, rest: Arguments, name: str | None, output: str) -> None:
        arguments = tuple(itertools.takewhile(lambda word: not word.startswith("-"), rest))
        if stand_in.why and arguments[:1] != ("get",):
            told = f"nothing is deleted: {stand_in.why}" if "delete" in arguments else stand_in.why
            click.echo(
                f"Note: {' '.join((context.command_path, *arguments[:2]))}: {told}.", err=True
            )
        value = stand_in.answer(arguments, name or "shoal")
        if value is not None:
            emit(value, output, lambda: _print(value))

    answered.help = stand_in.short_help
    return answered


def _print(value: Any) -> None:
    for item in value if isinstance(value, list) else [value]:
        print_fields(item if isinstance(item, dict) else {"": str(item).lower()})


@click.group(cls=AzGroup)
def monitor() -> None:
    """`autoscale create` lets a deployment scale by its processors."""


@monitor.group(cls=AzGroup)
def autoscale() -> None:
    """Policies of deployments; docs/autoscaling.md has all that they can say."""


@autoscale.command()
@name_option("Of the setting; kept nowhere.")
@click.option("--resource", required=True, help="Id of the deployment, as `show` prints it.")
@click.option("--min-count", type=click.IntRange(1), required=True)
@click.option("--max-count", type=click.IntRange(1), required=True)
@click.option("--count", type=click.IntRange(1), help="To begin with; default: what runs.")
@az_options
@output_option
def create(
    name: str | None,
    resource: str,
    min_count: int,
    max_count: int,
    count: int | None,
    output: str,
) -> None:
    """Let a deployment scale by its processors, between two counts of replicas."""
    from shoal.cli.session import ml_client

    _, found, rest = resource.partition("/onlineEndpoints/")
    parts = rest.strip("/").split("/")
    if not found or len(parts) != 3 or parts[1] != "deployments":
        raise click.UsageError(f"--resource: {resource} is the id of no online deployment.")
    if count is not None and not min_count <= count <= max_count:
        raise click.UsageError(f"--count: {count}, expected {min_count} to {max_count}.")
    endpoint, _, deployment = parts
    policy = {"min": min_count, "max": max_count, "targets": {"cpu_percent": CPU_PERCENT}}
    changes: dict[str, Any] = {"autoscale": policy}
    if count is not None:
        changes["instance_count"] = count
    with ml_client() as client:
        runs = client.online_deployments.get(deployment, endpoint)
        changed = client.client.change_deployment(endpoint, deployment, **changes)
        if changed is not None:
            client.client.wait_operation(changed)
    click.echo(
        f"Note: {deployment} aims at {CPU_PERCENT} % of its processors; rules have no effect, "
        "`autoscale` of the deployment says more.",
        err=True,
    )
    chosen = count or min(max(runs.instance_count or 0, min_count), max_count)
    capacity = {"default": str(chosen), "maximum": str(max_count), "minimum": str(min_count)}
    shown = {
        "enabled": True,
        "name": name or "shoal",
        "profiles": [{"capacity": capacity, "name": "default", "rules": []}],
        "targetResourceUri": resource,
    }
    emit(shown, output, lambda: print_fields({"Deployment": deployment, "Replicas": chosen}))


autoscale.add_command(command_of(RULE))
autoscale.add_command(
    command_of(StandIn("delete", "set `autoscale` of the deployment to null", _nothing))
)
