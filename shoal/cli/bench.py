"""``shoal bench``: the load client of sweeps from here, against any server of the protocol."""

import re
import shlex
from typing import Any

import click

from shoal.cli.load_options import load_asked, load_options, point_line, print_points
from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option
from shoal.cli.proxy import HTTP_PORT

LOCAL = f"127.0.0.1:{HTTP_PORT}"
URL = re.compile(r"[a-z]+://.*|[^/]+:[0-9]+(/.*)?|localhost(/.*)?")


@click.command(cls=AzCommand, short_help="Measure any server of the protocol from here.")
@click.argument("target", metavar="URL|ENDPOINT")
@click.option("--model", "-m", default="", help="Default, of an endpoint: its model.")
@click.option("--model-version", default="", help="Default: the server's choice.")
@click.option("--deployment", "-d", help="Of an endpoint; default: as its traffic goes.")
@click.option(
    "--header", "-H", "headers", multiple=True, metavar="NAME:VALUE", help="Sent with each request."
)
@load_options()
@output_option
def bench(
    target: str,
    model: str,
    model_version: str,
    deployment: str | None,
    headers: tuple[str, ...],
    output: str,
    **load: Any,
) -> int:
    """Measure a server of KServe's v2 protocol, or an endpoint through its gateway, from here.

    Throughput and latency at each level, over HTTP, with random data. A URL needs no installation
    of Shoal. Exit code 1 when nothing is answered.

    \b
      shoal bench localhost:8000 --model net --concurrency 1,2,4
      shoal bench digits --slo p99=20 -o json
    """
    from load_client import perf_analyzer
    from load_client.plans import BadPlan, check
    from load_client.points import points_shown
    from load_client.sweep import NothingAnswered, run
    from load_client.targets import Unreachable
    from shoal.cli.report import note
    from wire.load import LoadPlan, LoadPoint

    asked = load_asked(load)
    where, named = _where(target, deployment, _headers(headers), model)
    proxied = None if URL.fullmatch(target) else _proxy(target, deployment)
    plan = LoadPlan(
        model=named,
        version=model_version,
        mode=asked["mode"],
        levels=tuple(asked["levels"]),
        seconds=asked["seconds"],
        warm_up_s=asked["warm_up_s"],
        batch=asked["batch"],
        shapes={name: tuple(shape) for name, shape in asked["shapes"].items()},
        slo_percentile=asked["slo_percentile"] or 0,
        slo_us=1000 * (asked["slo_ms"] or 0.0),
    )
    points: list[LoadPoint] = []

    def tell(point: LoadPoint) -> None:
        points.append(point)
        note(point_line(points_shown(points, plan)["points"][-1], plan.mode))

    stopped_by, failed = "", ""
    try:
        check(plan)
        stopped_by = run(plan, where, tell=tell)
    except BadPlan as error:
        raise click.UsageError(str(error)) from error
    except NothingAnswered as error:
        failed = f"{error} {error.said}".strip()
    except (Unreachable, ValueError) as error:
        raise click.ClickException(f"{error}.") from error
    found: dict[str, Any] = {
        "target": target,
        "model": named,
        **{name: asked[name] for name in ("mode", "slo_percentile", "slo_ms")},
        "stopped_by": stopped_by,
        "failed": failed,
        **points_shown(points, plan),
        # why a proxy: it has no word for an endpoint's path and authority, and keys are secret
        "proxy": proxied,
        "perf_analyzer": perf_analyzer.command(plan, LOCAL if proxied else where.address),
    }
    emit(found, output, lambda: print_points(found))
    if failed:
        click.echo(f"Error: {failed}", err=True)
    return 1 if failed else 0


def _proxy(endpoint: str, deployment: str | None) -> str:
    """The command that serves the endpoint at ``LOCAL``."""
    pinned = ["--deployment", deployment] if deployment else []
    return shlex.join(["shoal", "proxy", endpoint, *pinned])


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise click.BadParameter(f"{text!r:.80}, expected NAME:VALUE", param_hint="--header")
        found[name.strip()] = value.strip()
    return found


def _where(target: str, deployment: str | None, headers: dict[str, str], model: str) -> Any:
    """The target, and the model's name."""
    from load_client.targets import target_of

    if not URL.fullmatch(target):
        return _endpoint(target, deployment, headers, model)
    if deployment:
        raise click.UsageError("--deployment is of an endpoint, and not of a URL.")
    if not model:
        raise click.UsageError("A URL needs --model.")
    try:
        return target_of(target, headers=headers), model
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="URL") from error


def _endpoint(name: str, deployment: str | None, headers: dict[str, str], model: str) -> Any:
    from load_client.targets import target_of
    from shoal.cli.test import models_of
    from shoal.client import Client
    from shoal.sdk.scoring import PIN, authority, secret, trust

    with Client() as client:
        shown = client.get_endpoint(name)
        sent = {"Authorization": f"Bearer {secret(client, shown)}", **headers}
        trusted = trust(authority(client, shown["ca_path"]))
        named = model or models_of(client, name, deployment)[0]
    if deployment:
        sent[PIN] = deployment
    return target_of(shown["scoring_uri"], headers=sent, tls=trusted), named
