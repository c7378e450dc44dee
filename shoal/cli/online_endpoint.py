"""``shoal online-endpoint``: the verbs and options of ``az ml online-endpoint``."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import (
    AzGroup,
    AzOption,
    az_options,
    confirm,
    file_option,
    local_option,
    name_option,
    no_wait_option,
    percentages,
    set_option,
    supersede_option,
    yes_option,
)
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.rules import rule_text, sticky_text

_traffic_option = click.option(
    "--traffic",
    "-r",
    cls=AzOption,
    greedy=True,
    metavar="NAME=PERCENT...",
    help='The whole of the traffic: --traffic "blue=90 green=10".',
)
_mirror_option = click.option(
    "--mirror-traffic",
    "-m",
    cls=AzOption,
    greedy=True,
    metavar="NAME=PERCENT",
    help="Send copies of some requests to a deployment without traffic; at most 50 percent.",
)


@click.group("online-endpoint", cls=AzGroup, short_help="Endpoints, as in `az ml online-endpoint`.")
def online_endpoint() -> None:
    """Endpoints with the options of `az ml online-endpoint`.

    An endpoint is a stable, authenticated URL; its traffic is shared out over deployments.
    """


@online_endpoint.command()
@name_option("Name; goes before the file's.")
@file_option("endpoint")
@click.option("--auth-mode", help="key or aml_token.")
@set_option
@no_wait_option
@local_option
@az_options
@output_option
def create(
    name: str | None,
    file: Path | None,
    auth_mode: str | None,
    settings: tuple[str, ...],
    no_wait: bool,
    output: str,
    local: bool,
) -> None:
    """Create an endpoint. It has two keys at once, and no deployment yet."""
    from shoal.cli.session import ml_client
    from shoal.entities.loading import load_online_endpoint

    if name is None and file is None:
        raise click.UsageError("Give --name, or --file with a name in it.")
    laid = _settable(settings, _given(name=name))
    laid |= _given(name=name, auth_mode=auth_mode)
    entity = load_online_endpoint(file or {}, params_override=[laid])
    with ml_client(local=local) as client:
        poller = client.online_endpoints.begin_create_or_update(entity, local=local)
        if no_wait:
            made = client.online_endpoints.get(str(entity.name), local=local)
        else:
            made = poller.result()
    _emit(made, output)


@online_endpoint.command()
@name_option("Name; goes before the file's.")
@file_option("endpoint")
@_traffic_option
@_mirror_option
@set_option
@supersede_option
@no_wait_option
@local_option
@az_options
@output_option
def update(
    name: str | None,
    file: Path | None,
    traffic: tuple[str, ...],
    mirror_traffic: tuple[str, ...],
    settings: tuple[str, ...],
    supersede: bool,
    no_wait: bool,
    output: str,
    local: bool,
) -> None:
    """Change an endpoint's tags, traffic or mirror."""
    from shoal.cli.session import ml_client
    from shoal.entities.loading import load_online_endpoint
    from shoal.entities.sources import read

    if name is None and file is None:
        raise click.UsageError("Give --name, or --file with a name in it.")
    shares = percentages(traffic, "--traffic") if traffic else None
    mirror = percentages(mirror_traffic, "--mirror-traffic") if mirror_traffic else None
    with ml_client(local=local) as client:
        values = read(file).values if file else {}
        chosen = str(name or values.get("name"))
        laid = _settable(settings, {"name": chosen})
        current = client.online_endpoints.get(chosen, local=local)._to_dict()
        for own in ("location", "kind"):  # ours, not given by anybody
            current.pop(own, None)
        entity = load_online_endpoint({**current, **values, "name": chosen}, params_override=[laid])
        if shares is not None:
            entity.traffic = shares
        if mirror is not None:
            entity.mirror_traffic = mirror
        local = local and chosen in client.local
        poller = client.online_endpoints.begin_create_or_update(
            entity, supersede=supersede, local=local
        )
        made = client.online_endpoints.get(chosen, local=local) if no_wait else poller.result()
    _emit(made, output)


@online_endpoint.command()
@name_option("Name of the endpoint.", required=True)
@local_option
@az_options
@output_option
def show(name: str, output: str, local: bool) -> None:
    """Show one endpoint."""
    from shoal.cli.session import ml_client

    with ml_client(local=local) as client:
        _emit(client.online_endpoints.get(name, local=local), output)


@online_endpoint.command("list")
@local_option
@az_options
@output_option
def list_(output: str, local: bool) -> None:
    """List endpoints."""
    from shoal.cli.session import ml_client
    from shoal.sdk.shapes import as_shown

    with ml_client(local=local) as client:
        items = [as_shown(item) for item in client.online_endpoints.list(local=local)]
    columns = {
        "NAME": lambda item: item["name"],
        "STATE": lambda item: f"{item['serving_state']} ({item['provisioning_state']})",
        "AUTH": lambda item: item["auth_mode"],
        "TRAFFIC": lambda item: _shares(item["traffic"]),
        "SCORING URI": lambda item: item["scoring_uri"],
    }
    emit(items, output, lambda: print_rows(items, columns, "No endpoints yet"))


@online_endpoint.command()
@name_option("Name of the endpoint.", required=True)
@yes_option
@no_wait_option
@local_option
@az_options
@output_option
def delete(name: str, yes: bool, no_wait: bool, output: str, local: bool) -> None:
    """Delete an endpoint with its deployments and keys. Its models stay registered."""
    from shoal.cli.report import note
    from shoal.cli.session import ml_client

    del output
    with ml_client(local=local) as client:
        current = client.online_endpoints.get(name, local=local)
        traffic = _shares(current.traffic or {})
        confirm(
            f"Delete endpoint {name}?{f' It has traffic: {traffic}.' if traffic else ''}", yes=yes
        )
        poller = client.online_endpoints.begin_delete(name=name, local=local)
        if not no_wait:
            poller.result()
    note(f"Endpoint {name} {'is being deleted' if no_wait else 'is deleted'}")


@online_endpoint.command("get-credentials")
@name_option("Name of the endpoint.", required=True)
@az_options
@output_option
def get_credentials(name: str, output: str) -> None:
    """Print what opens the endpoint; reading it is recorded.

    Both keys, and the first as accessToken too; with auth_mode aml_token a token that expires.
    """
    from shoal.cli.session import ml_client
    from shoal.entities import EndpointAuthToken

    with ml_client() as client:
        found = client.online_endpoints.get_keys(name)
    fields: dict[str, Any]
    if isinstance(found, EndpointAuthToken):
        fields = {
            "accessToken": found.access_token,
            "expiryTimeUtc": found.expiry_time_utc,
            "refreshAfterTimeUtc": found.refresh_after_time_utc,
            "tokenType": found.token_type,
        }
    else:
        # why accessToken: scripts written for one mode then work in the other
        fields = {
            "primaryKey": found.primary_key,
            "secondaryKey": found.secondary_key,
            "accessToken": found.primary_key,
        }
    emit(fields, output, lambda: print_fields(fields))


@online_endpoint.command("regenerate-keys")
@name_option("Name of the endpoint.", required=True)
@click.option(
    "--key-type",
    type=click.Choice(["primary", "secondary"], case_sensitive=False),
    default="primary",
    show_default=True,
    help="Which of the two; the other goes on working.",
)
@yes_option
@no_wait_option
@az_options
@output_option
def regenerate_keys(name: str, key_type: str, yes: bool, no_wait: bool, output: str) -> None:
    """Replace one key. What uses the old one is refused within seconds.

    Returns once every gateway has confirmed that. Where one is silent the command says so and
    exits 1: its Envoy may go on taking the old key.
    """
    from shoal.cli.report import note
    from shoal.cli.session import ml_client

    del output, no_wait
    confirm(f"Replace the {key_type} key of {name}?", yes=yes)
    with ml_client() as client:
        client.online_endpoints.begin_regenerate_keys(name, key_type=key_type).result()
    note(f"The {key_type} key of {name} is new")


@online_endpoint.command()
@name_option("Name of the endpoint.", required=True)
@click.option(
    "--request-file",
    "-r",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What to send, as it is: KServe JSON, or what the model takes.",
)
@click.option("--deployment-name", "-d", help="This deployment, whatever the traffic says.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=@FILE.npy",
    help="A tensor from a NumPy file, or NAME=1,2,3. May be repeated.",
)
@local_option
@az_options
@output_option
def invoke(
    name: str,
    request_file: Path | None,
    deployment_name: str | None,
    inputs: tuple[str, ...],
    local: bool,
    output: str,
) -> None:
    """Call an endpoint once, and print its answer as it is."""
    from shoal.cli.session import ml_client

    del output
    if (request_file is None) == (not inputs):
        raise click.UsageError("Give --request-file, or --input NAME=VALUE.")
    content = None
    with ml_client(local=local) as client:
        if inputs:
            from shoal.cli.tensors import datatypes, request_body

            types = {}
            if not client.local.means(name, local=local):
                shown = client.client.get_endpoint(name)
                types = datatypes(client.client, shown, deployment_name)
            content = request_body(inputs, types)
        text = client.online_endpoints.invoke(
            name,
            request_file=request_file,
            deployment_name=deployment_name,
            input_data=content,
            local=local,
        )
    click.echo(text)


def _settable(settings: tuple[str, ...], fixed: dict[str, Any]) -> dict[str, Any]:
    from shoal.entities import overrides, schemas

    return overrides.settable(settings, schemas.ENDPOINT, {**schemas.SHOWN_OF_ENDPOINT, **fixed})


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _size(largest: int | None) -> str | None:
    from shoal.display.units import byte_count

    return byte_count(largest) if largest else None


def _rate(limit: dict[str, Any] | None) -> str | None:
    if not limit:
        return None
    whose = "each key" if limit.get("per") == "key" else "all callers together"
    burst = f", {limit['burst']} at once" if limit.get("burst") else ""
    return f"{limit.get('requests_per_second')} requests/s{burst}, {whose}"


def _objectives(listed: list[dict[str, Any]] | None) -> str | None:
    from shoal.cli.objective import promise

    return "; ".join(f"{one['name']}: {promise(one)}" for one in listed or ()) or None


def _shares(traffic: dict[str, int]) -> str:
    return ", ".join(f"{name} {percent} %" for name, percent in traffic.items() if percent)


def _emit(entity: Any, output: str) -> None:
    from shoal.sdk.shapes import as_shown

    values = as_shown(entity)
    emit(
        values,
        output,
        lambda: print_fields(
            {
                "Name": values["name"],
                "Description": values.get("description"),
                "State": f"{values['serving_state']} ({values['provisioning_state']})",
                "Auth mode": values["auth_mode"],
                "Traffic": _shares(values["traffic"]) or "none",
                "Mirror": _shares(values["mirror_traffic"]),
                "Rules": "; ".join(map(rule_text, values.get("traffic_rules") or ())) or None,
                "Sticky": sticky_text(values.get("sticky")),
                "CORS origins": ", ".join(values.get("cors_origins") or ()) or None,
                "Largest request": _size(values.get("max_request_bytes")),
                "Rate": _rate(values.get("rate_limit")),
                "Objectives": _objectives(values.get("objectives")),
                "HTTP": values["scoring_uri"],
                "gRPC": values["grpc_target"],
            }
        ),
    )
