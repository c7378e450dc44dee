"""``shoal online-deployment``: the verbs and options of ``az ml online-deployment``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import (
    AzGroup,
    az_options,
    confirm,
    file_option,
    local_option,
    name_option,
    no_wait_option,
    set_option,
    skip_golden_option,
    supersede_option,
    yes_option,
)
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.rollout_options import first_traffic, first_traffic_options

_endpoint_option = click.option(
    "--endpoint-name", "-e", help="Name of the endpoint; goes before the file's."
)
_endpoint_required = click.option("--endpoint-name", "-e", required=True, help="Its endpoint.")
_debug_option = click.option(
    "--vscode-debug",
    is_flag=True,
    help="With --local: let debuggers attach to its code (debugpy, port 5678).",
)
_all_traffic_option = click.option(
    "--all-traffic", is_flag=True, help="Give it all of the endpoint's requests once it is ready."
)


def _refused(_: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        raise click.UsageError(
            f"{parameter.opts[0]}: models need no package here; they are served as registered."
        )


@click.group(
    "online-deployment", cls=AzGroup, short_help="Deployments, as in `az ml online-deployment`."
)
def online_deployment() -> None:
    """Deployments with the options of `az ml online-deployment`.

    A deployment is one version of a model, running in replicas behind an endpoint.
    """


@online_deployment.command(short_help="Create a deployment, and register its model.")
@name_option("Name; goes before the file's.")
@_endpoint_option
@file_option("deployment", required=True)
@_all_traffic_option
@first_traffic_options
@set_option
@supersede_option
@skip_golden_option
@no_wait_option
@click.option(
    "--package-model", "--with-package", is_flag=True, hidden=True, expose_value=False,
    callback=_refused,
)  # fmt: skip
@click.option("--skip-script-validation", is_flag=True, hidden=True, expose_value=False)
@local_option
@_debug_option
@az_options
@output_option
def create(
    name: str | None,
    endpoint_name: str | None,
    file: Path,
    all_traffic: bool,
    settings: tuple[str, ...],
    supersede: bool,
    skip_golden: bool,
    no_wait: bool,
    output: str,
    local: bool,
    vscode_debug: bool,
    **more: Any,
) -> None:
    """Create a deployment; registers the model first when the file names a local path.

    It gets no traffic unless --all-traffic, --traffic or --rollout say so.
    """
    how: dict[str, Any] = {"all_traffic": all_traffic, "supersede": supersede, "local": local}
    how |= {"skip_golden": skip_golden, "vscode_debug": _debugged(vscode_debug, local=local)}
    how |= first_traffic(more)
    _apply(name, endpoint_name, file, settings, output, how, no_wait=no_wait)


@online_deployment.command(short_help="Change a deployment: model, settings, replicas.")
@name_option("Name; goes before the file's.")
@_endpoint_option
@file_option("deployment")
@_all_traffic_option
@set_option
@supersede_option
@skip_golden_option
@no_wait_option
@local_option
@_debug_option
@az_options
@output_option
def update(
    name: str | None,
    endpoint_name: str | None,
    file: Path | None,
    all_traffic: bool,
    settings: tuple[str, ...],
    supersede: bool,
    skip_golden: bool,
    no_wait: bool,
    output: str,
    local: bool,
    vscode_debug: bool,
) -> None:
    """Change a deployment: its model, its settings, its number of replicas.

    A new model goes in without a gap: the old replicas answer until the new ones do. Without --file
    --set says what changes.
    """
    if file is None and (name is None or endpoint_name is None):
        raise click.UsageError("Give --file, or --name and --endpoint-name.")
    how = {"all_traffic": all_traffic, "supersede": supersede, "local": local}
    how |= {"skip_golden": skip_golden, "vscode_debug": _debugged(vscode_debug, local=local)}
    _apply(name, endpoint_name, file, settings, output, how, no_wait=no_wait)


@online_deployment.command()
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@local_option
@az_options
@output_option
def show(name: str, endpoint_name: str, output: str, local: bool) -> None:
    """Show one deployment."""
    from shoal.cli.session import ml_client

    with ml_client(local=local) as client:
        _emit(client.online_deployments.get(name, endpoint_name, local=local), output)


@online_deployment.command("list")
@_endpoint_required
@local_option
@az_options
@output_option
def list_(endpoint_name: str, output: str, local: bool) -> None:
    """List an endpoint's deployments."""
    from shoal.cli.session import ml_client
    from shoal.sdk.shapes import as_shown

    with ml_client(local=local) as client:
        found = client.online_deployments.list(endpoint_name, local=local)
        items = [as_shown(item) for item in found]
    columns = {
        "NAME": lambda item: item["name"],
        "STATE": lambda item: f"{item['serving_state']} ({item['provisioning_state']})",
        "MODEL": lambda item: _model(item["model"]),
        "INSTANCES": lambda item: item["instance_count"],
    }
    emit(items, output, lambda: print_rows(items, columns, "No deployments yet"))


@online_deployment.command()
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@yes_option
@no_wait_option
@local_option
@az_options
@output_option
def delete(
    name: str, endpoint_name: str, yes: bool, no_wait: bool, output: str, local: bool
) -> None:
    """Delete a deployment that has no traffic. Its model stays registered."""
    from shoal.cli.report import note
    from shoal.cli.session import ml_client

    del output
    with ml_client(local=local) as client:
        deployments = client.online_deployments
        deployments.get(name, endpoint_name, local=local)
        confirm(f"Delete deployment {name} of {endpoint_name}?", yes=yes)
        poller = deployments.begin_delete(name=name, endpoint_name=endpoint_name, local=local)
        if not no_wait:
            poller.result()
    note(f"Deployment {name} {'is being deleted' if no_wait else 'is deleted'}")


@online_deployment.command()
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@click.option("--force", is_flag=True, help="Even if it answers requests; they then fail.")
@supersede_option
@no_wait_option
@az_options
@output_option
def stop(
    name: str, endpoint_name: str, force: bool, supersede: bool, no_wait: bool, output: str
) -> None:
    """Pause a deployment: no replicas, all else stays. `az ml` has no such verb."""
    from shoal.cli.session import ml_client

    with ml_client() as client:
        poller = client.online_deployments.begin_stop(
            name, endpoint_name, force=force, supersede=supersede
        )
        _emit_result(client, poller, name, endpoint_name, output, no_wait=no_wait)


@online_deployment.command()
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@supersede_option
@no_wait_option
@az_options
@output_option
def start(name: str, endpoint_name: str, supersede: bool, no_wait: bool, output: str) -> None:
    """Resume a stopped deployment with as many replicas as before. `az ml` has no such verb."""
    from shoal.cli.session import ml_client

    with ml_client() as client:
        poller = client.online_deployments.begin_start(name, endpoint_name, supersede=supersede)
        _emit_result(client, poller, name, endpoint_name, output, no_wait=no_wait)


@online_deployment.command()
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@no_wait_option
@az_options
@output_option
def restart(name: str, endpoint_name: str, no_wait: bool, output: str) -> None:
    """Replace each replica by a fresh one, which answers first.

    After an upgrade that is how replicas get the new runtime. `az ml` has no such verb.
    """
    from shoal.cli.session import ml_client

    with ml_client() as client:
        poller = client.online_deployments.begin_restart(name, endpoint_name)
        _emit_result(client, poller, name, endpoint_name, output, no_wait=no_wait)


@online_deployment.command()
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@click.option("--revision", type=click.IntRange(1), help="Default: the last that came up.")
@supersede_option
@no_wait_option
@az_options
@output_option
def rollback(
    name: str, endpoint_name: str, revision: int | None, supersede: bool, no_wait: bool, output: str
) -> None:
    """Run an earlier revision again; it answers before this one goes. `az ml` has no such verb."""
    from shoal.cli.session import ml_client

    with ml_client() as client:
        poller = client.online_deployments.begin_rollback(
            name, endpoint_name, revision, supersede=supersede
        )
        _emit_result(client, poller, name, endpoint_name, output, no_wait=no_wait)


@online_deployment.command("get-logs")
@name_option("Name of the deployment.", required=True)
@_endpoint_required
@click.option("--lines", "-l", type=click.IntRange(1), default=50, show_default=True)
@click.option(
    "--container",
    "-c",
    type=click.Choice(["inference-server", "storage-initializer"]),
    help="Whose lines.",
)
@local_option
@az_options
@output_option
def get_logs(
    name: str, endpoint_name: str, lines: int, container: str | None, output: str, local: bool
) -> None:
    """Print the last lines of a deployment's replicas. `shoal logs --follow` goes on."""
    from shoal.cli.session import ml_client

    del output
    with ml_client(local=local) as client:
        client.online_deployments.get(name, endpoint_name, local=local)
        said = client.online_deployments.get_logs(
            name, endpoint_name, lines, container_type=container, local=local
        )
        click.echo(said)


def _apply(
    name: str | None,
    endpoint_name: str | None,
    file: Path | None,
    settings: tuple[str, ...],
    output: str,
    how: Mapping[str, Any],
    *,
    no_wait: bool,
) -> None:
    from shoal.cli.session import ml_client
    from shoal.entities import overrides, schemas
    from shoal.entities.loading import load_online_deployment

    said = {"name": name, "endpoint_name": endpoint_name}
    given = {key: value for key, value in said.items() if value is not None}
    fixed = {**schemas.SHOWN_OF_DEPLOYMENT, **given}
    laid = overrides.settable(settings, schemas.DEPLOYMENT, fixed) | given
    with ml_client(local=how["local"]) as client:
        source: Any = file
        if file is None:
            there = (str(name), str(endpoint_name))
            source = client.online_deployments.get(*there, local=how["local"])._to_dict()
        entity = load_online_deployment(source, params_override=[laid])
        poller = client.online_deployments.begin_create_or_update(entity, **how)
        if not no_wait:
            made = poller.result()
        else:
            there = (str(entity.name), str(entity.endpoint_name))
            made = client.online_deployments.get(*there, local=how["local"])
    _emit(made, output)


def _debugged(asked: bool, *, local: bool) -> bool:
    if asked and not local:
        raise click.UsageError("--vscode-debug: replicas take no debugger; give --local as well.")
    return asked


def _emit_result(
    client: Any, poller: Any, name: str, endpoint_name: str, output: str, *, no_wait: bool
) -> None:
    """The deployment as it is: now, or once the operation has ended."""
    found = client.online_deployments.get(name, endpoint_name) if no_wait else poller.result()
    _emit(found, output)


def _scaled(values: dict[str, Any]) -> dict[str, str]:
    """What the autoscaler wants, why, and what stands in its way."""
    policy, decided = values.get("autoscale"), values.get("autoscaling")
    if not policy:
        return {}
    told = f"{policy['min']} to {policy['max']}" + ("" if policy["enabled"] else ", paused")
    if decided is None:
        return {"Autoscaling": told}
    told += f"; {decided['wanted']} wanted"
    if values["serving_state"] == "Idle":
        told += " (idle, wakes on request)"
    found = {"Autoscaling": told, "Why": decided["reason"]}
    return found | ({"Blocked": decided["blocked"]} if decided["blocked"] else {})


def _emit(entity: Any, output: str) -> None:
    from shoal.sdk.shapes import as_shown

    values = as_shown(entity)
    settings = values.get("request_settings") or {}
    emit(
        values,
        output,
        lambda: print_fields(
            {
                "Name": values["name"],
                "Endpoint": values["endpoint_name"],
                "Description": values.get("description"),
                "State": f"{values['serving_state']} ({values['provisioning_state']})",
                "Model": _model(values["model"]),
                **_scaled(values),
                "Instances": values["instance_count"],
                "Time-out": _time_out(settings.get("request_timeout_ms")),
                "HTTP": values.get("scoring_uri"),
                "Queue wait": _wait(settings.get("max_queue_wait_ms")),
            }
        ),
    )


def _wait(most_ms: int | None) -> str:
    return f"at most {most_ms} ms" if most_ms else "as long as the model allows"


def _time_out(most_ms: int | None) -> str | None:
    return f"{most_ms} ms" if most_ms else None


def _model(given: str | dict[str, Any]) -> str:
    """What is registered by its name, what a local deployment has by its path."""
    return given if isinstance(given, str) else str(given.get("path") or given.get("name"))
