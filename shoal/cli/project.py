"""``shoal project``: namespaces over models and endpoints, with members and quotas."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import byte_count, moment

ROLES = ("viewer", "invoker", "deployer")
_display_name = click.option("--display-name", help="What people call it.")
_UNLIMITED = "none"


class _Limit(click.ParamType[int | str]):
    """A whole number, or ``none`` for no limit."""

    name = "number|none"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if value == _UNLIMITED:
            return _UNLIMITED
        try:
            number = int(value)
        except ValueError:
            number = -1
        if number < 0:
            self.fail(f"{value!r}, expected a whole number, or {_UNLIMITED}.", param, ctx)
        return number


def _limits(command: Any) -> Any:
    for name, about in (
        ("--max-bytes", "Bytes of the versions of its models, and of unregistered uploads."),
        ("--max-gpus", "GPUs that its deployments ask for."),
        ("--max-replicas", "Replicas that its deployments ask for."),
    ):
        command = click.option(name, type=_Limit(), help=f"{about} none: no limit.")(command)
    return command


@click.group(short_help="Projects: members and quotas.")
def project() -> None:
    """Projects: namespaces over models, endpoints and environments, with members and quotas.

    \b
      shoal project create vision --max-gpus 4
      shoal user add mia --role member
      shoal project add-member vision mia --role deployer
      shoal --project vision deploy resnet.onnx

    Changing one needs the role admin.
    """


@project.command("list")
@click.option("--archived-only", is_flag=True, help="Only archived ones.")
@click.option("--include-archived", is_flag=True, help="Archived ones, too.")
@output_option
def list_(archived_only: bool, include_archived: bool, output: str) -> None:
    """List projects, with what they use of their quotas."""
    from shoal.client import Client

    view = "archived" if archived_only else "all" if include_archived else "active"
    with Client() as client:
        items = client.list_projects(archived=view)
    columns = {
        "NAME": lambda item: item["name"],
        "REPLICAS": lambda item: _used(item, "replicas"),
        "GPUS": lambda item: _used(item, "gpus"),
        "BYTES": lambda item: _used(item, "bytes"),
        "CREATED": lambda item: moment(item["created_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No projects"))


@project.command()
@click.argument("name")
@output_option
def show(name: str, output: str) -> None:
    """Show a project."""
    from shoal.client import Client

    with Client() as client:
        _emit(client.get_project(name), output)


@project.command()
@click.argument("name")
@_display_name
@_limits
@output_option
def create(name: str, output: str, **given: Any) -> None:
    """Make a project. It has no members yet, and no limits but those given."""
    from shoal.client import Client

    with Client() as client:
        _emit(client.create_project(name, **_changes(given)), output)


@project.command()
@click.argument("name")
@_display_name
@_limits
@output_option
def update(name: str, output: str, **given: Any) -> None:
    """Change a project's display name or limits.

    A limit below what is used stops nothing that runs; it refuses what would be more.
    """
    from shoal.client import Client

    changes = _changes(given)
    if not changes:
        raise click.UsageError(
            "Say what changes: --display-name, --max-replicas, --max-gpus or --max-bytes."
        )
    with Client() as client:
        _emit(client.update_project(name, **changes), output)


@project.command()
@click.argument("name")
@output_option
def archive(name: str, output: str) -> None:
    """Let nothing new be made in a project. What runs there runs on."""
    from shoal.client import Client

    with Client() as client:
        _emit(client.set_project_archived(name, archived=True), output)


@project.command()
@click.argument("name")
@output_option
def restore(name: str, output: str) -> None:
    """Take an archived project into use again."""
    from shoal.client import Client

    with Client() as client:
        _emit(client.set_project_archived(name, archived=False), output)


@project.command(short_help="List who has a role in a project.")
@click.argument("name")
@output_option
def members(name: str, output: str) -> None:
    """List who has a role in a project, besides those who have one in the installation."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_members(name)
    columns = {
        "NAME": lambda item: item["username"],
        "ROLE": lambda item: item["role"],
        "SINCE": lambda item: moment(item["created_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No members"))


@project.command("add-member", short_help="Give somebody a role in a project.")
@click.argument("name")
@click.argument("user")
@click.option(
    "--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="In this project."
)
@output_option
def add_member(name: str, user: str, role: str, output: str) -> None:
    """Give a user or a service account a role in a project, whatever it was before."""
    from shoal.client import Client

    with Client() as client:
        made = client.set_member(name, user, role)
    fields = {"Project": name, "Name": made["username"], "Role": made["role"]}
    emit(made, output, lambda: print_fields(fields))


@project.command("remove-member", short_help="Take a role in a project away.")
@click.argument("name")
@click.argument("user")
def remove_member(name: str, user: str) -> None:
    """Take somebody's role in a project away; it counts from the next request on."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.remove_member(name, user)
    note(f"{user} has no role in {name} any more")


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    """What was said; ``none`` takes a limit away."""
    return {
        name: None if value == _UNLIMITED and name.startswith("max_") else value
        for name, value in given.items()
        if value is not None
    }


def _used(item: Any, kind: str) -> str:
    told = byte_count if kind == "bytes" else str
    limit = item[f"max_{kind}"]
    used = told(item[f"used_{kind}"])
    return used if limit is None else f"{used} of {told(limit)}"


def _emit(item: Any, output: str) -> None:
    fields = {
        "Name": item["name"],
        "Called": item["display_name"],
        "Replicas": _used(item, "replicas"),
        "GPUs": _used(item, "gpus"),
        "Bytes": _used(item, "bytes"),
        "Archived": "yes" if item["archived"] else "no",
    }
    emit(item, output, lambda: print_fields(fields))
